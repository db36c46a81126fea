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
        if let problem = Self.problem(with: text) {
            let example = "/run/user/\(Syscalls.effectiveUserID)/rtc_SSFD"
            let remedy = "use the path of a file in a directory, such as \(example)"
            throw TransportError(.invalidPath, path: text, problem, remedy: remedy)
        }
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
        case (0, _): "a path that begins with a NUL byte is an abstract name, which any user can claim"
        case (_, UInt8(ascii: "/")): "the path ends with a slash"
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
        return TransportError(.pathTooLong, path: text, message, remedy: "choose a shorter one")
    }
}
