#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#elseif canImport(Darwin)
    internal import Darwin
#endif

/// A path that a socket can have, checked once and taken apart.
struct SocketPath: Sendable {
    /// The maximum number of bytes that the system accepts unchanged: `sun_path` less its closing NUL.
    static let maximumBytes = MemoryLayout.size(ofValue: sockaddr_un().sun_path) - 1

    #if os(Linux)
        /// The maximum number of bytes in the last part of a longer path, before which the longest descriptor's path
        /// must fit.
        static let maximumNameBytes = maximumBytes - "\(Syscalls.descriptorFolder)/\(Int32.max)/".utf8.count
    #endif

    /// The path as it was given.
    let text: String

    /// Everything before the last component; `.` if there is nothing.
    let directory: String

    /// The last part.
    let name: String

    /// - Throws: `pathTooLong` or `invalidPath`; no file is accessed.
    init(_ text: String) throws(TransportError) {
        if let problem = Self.problem(with: text) { throw TransportError(.invalidPath, path: text, problem) }
        self.text = text
        if let slash = text.utf8.lastIndex(of: UInt8(ascii: "/")) {
            let afterSlash = text.utf8.index(after: slash)
            directory = slash == text.startIndex ? "/" : String(text[..<slash])
            name = String(text[afterSlash...])
        } else {
            (directory, name) = (".", text)
        }
        guard isWhole || Self.mayBeLong(directory: directory, name: name) else { throw Self.tooLong(text, name: name) }
    }

    /// Whether it begins at the root.
    var isAbsolute: Bool { text.utf8.first == UInt8(ascii: "/") }

    /// Whether the system accepts the path unchanged.
    var isWhole: Bool { text.utf8.count <= Self.maximumBytes }

    /// Returns a shorter path to the same file, through the descriptor of its directory.
    func text(in directory: Int32) -> String {
        "\(Syscalls.descriptorFolder)/\(directory)/\(name)"
    }

    private static func problem(with text: String) -> String? {
        switch (text.utf8.first, text.utf8.last) {
        case (nil, _): "the path is empty"
        case (0, _):
            "a path that begins with a NUL byte is an abstract name, which any user can claim; use the path of a file"
        case (_, UInt8(ascii: "/")): "the path ends with a slash; append the socket's name"
        default: text.utf8.contains(0) ? "the path contains a NUL byte" : nil
        }
    }

    private static func mayBeLong(directory: String, name: String) -> Bool {
        #if os(Linux)
            name.utf8.count <= maximumNameBytes
                && directory.utf8.count < Int(PATH_MAX)
                && directory.utf8.split(separator: UInt8(ascii: "/")).allSatisfy { $0.count <= Int(NAME_MAX) }
                && Syscalls.hasDescriptorFolder
        #else
            false
        #endif
    }

    private static func tooLong(_ text: String, name: String) -> TransportError {
        var message = "the path has \(text.utf8.count) bytes; a socket's path may have at most \(maximumBytes)"
        #if os(Linux)
            message +=
                name.utf8.count > maximumNameBytes
                ? ", or more if its last component has at most \(maximumNameBytes) and not \(name.utf8.count)"
                : ", or more if \(Syscalls.descriptorFolder) exists and each component has at most \(NAME_MAX)"
        #endif
        return TransportError(.pathTooLong, path: text, message + "; choose a shorter one")
    }
}

/// The directory of a server's socket, opened once and found safe.
///
/// Files are examined, created and removed by way of the directory's descriptor, so that a later replacement of the
/// directory, or a change of the process's working directory, has no effect.
struct SocketDirectory: ~Copyable {
    /// The socket's path.
    let path: SocketPath

    private let descriptor: OwnedDescriptor

    var rawValue: Int32 { descriptor.rawValue }

    /// - Throws: `unsafePath` if users other than this one and root could replace files in it.
    init(of path: SocketPath) throws(TransportError) {
        let descriptor = try path.attempt { () throws(Errno) in try Syscalls.openDirectory(path.directory) }
        let entry = try path.attempt { () throws(Errno) in try Syscalls.entry(of: descriptor.rawValue) }
        let user = Syscalls.effectiveUserID
        guard entry.owner == user || entry.owner == 0 else {
            throw .unsafePath(
                path,
                "the directory \(path.directory) belongs to user \(entry.owner), who could replace the socket; "
                    + "choose one owned by you (user \(user))"
            )
        }
        guard !entry.isOpenToOthers else {
            throw .unsafePath(
                path,
                "the directory \(path.directory) of user \(entry.owner) has mode \(String(entry.mode, radix: 8)), "
                    + "which lets others replace the socket; run: chmod go-w \(path.directory)"
            )
        }
        self.path = path
        self.descriptor = descriptor
    }

    /// Returns the file at a name, without following a link; nil if there is none.
    func entry(named name: String) throws(TransportError) -> Syscalls.Entry? {
        do throws(Errno) {
            return try Syscalls.entry(named: name, in: rawValue)
        } catch .noEntry {
            return nil
        } catch {
            throw .cannotListen(at: path.text, error)
        }
    }

    /// Removes the file at a name if it is still the same file.
    ///
    /// The caller must keep the file's inode from being reused, with a bound socket or an open file.
    func remove(_ entry: Syscalls.Entry, named name: String) {
        guard let present = try? Syscalls.entry(named: name, in: rawValue), present.isSame(as: entry) else { return }
        try? Syscalls.removeEntry(named: name, in: rawValue)
    }
}
