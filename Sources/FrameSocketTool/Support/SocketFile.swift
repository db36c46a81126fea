import FrameSocket

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// The path of a socket to connect to, which on Linux may be longer than an address.
struct SocketFile {
    /// The maximum length of a path that the system takes whole: an address less the NUL byte at its end.
    private static let maximumByteCount = MemoryLayout.size(ofValue: sockaddr_un().sun_path) - 1

    #if os(Linux)
        private static let descriptorFolder = "/proc/self/fd"

        /// The maximum length of the last component of a longer path, which follows the path of its directory's
        /// descriptor.
        private static let maximumNameByteCount = maximumByteCount - "\(descriptorFolder)/\(Int32.max)/".utf8.count
    #endif

    let path: String
    private let directory: String
    private let name: String

    /// Checks a path as every command does.
    ///
    /// - Throws: `invalidPath` or `pathTooLong`.
    init(_ path: String) throws(TransportError) {
        guard !path.isEmpty else { throw TransportError(.invalidPath, path: path, "the path is empty") }
        guard !path.hasSuffix("/") else {
            throw TransportError(.invalidPath, path: path, "the path ends with a slash; append the socket's name")
        }
        self.path = path
        if let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) {
            directory = slash == path.startIndex ? "/" : String(path[..<slash])
            name = String(path[path.utf8.index(after: slash)...])
        } else {
            (directory, name) = (".", path)
        }
        if let problem { throw TransportError(.pathTooLong, path: path, problem) }
    }

    private var isWhole: Bool { path.utf8.count <= Self.maximumByteCount }

    /// Explains why the path is too long; nil if it is not.
    private var problem: String? {
        guard !isWhole else { return nil }
        var message =
            "the path has \(path.utf8.count) bytes; a socket's path may have at most \(Self.maximumByteCount)"
        #if os(Linux)
            if name.utf8.count > Self.maximumNameByteCount {
                message += ", or more if its last component has at most \(Self.maximumNameByteCount)"
                message += " and not \(name.utf8.count)"
            } else {
                let parts = directory.utf8.split(separator: UInt8(ascii: "/"))
                let isReachable = directory.utf8.count < Int(PATH_MAX) && parts.allSatisfy { $0.count <= Int(NAME_MAX) }
                let hasFolder = unsafe access(Self.descriptorFolder, X_OK) == 0
                guard !isReachable || !hasFolder else { return nil }
                message += ", or more if \(Self.descriptorFolder) exists and each component has at most \(NAME_MAX)"
            }
        #endif
        return message + "; choose a shorter one"
    }

    /// Connects a socket.
    ///
    /// A long path is resolved from its directory, which is opened for the call.
    ///
    /// - Throws: The system's error.
    func connect(_ descriptor: Int32) throws(Files.Failure) {
        guard !isWhole else { return try connect(descriptor, to: path) }
        #if os(Linux)
            let opened = unsafe open(directory, __O_PATH | O_DIRECTORY | O_CLOEXEC)
            guard opened >= 0 else { throw Files.Failure(path) }
            defer { close(opened) }
            try connect(descriptor, to: "\(Self.descriptorFolder)/\(opened)/\(name)")
        #endif
    }

    private func connect(_ descriptor: Int32, to place: String) throws(Files.Failure) {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { field in
            unsafe field.copyBytes(from: place.utf8.prefix(Self.maximumByteCount))
        }
        let result = unsafe withUnsafePointer(to: &address) { address in
            unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                #if canImport(Glibc)
                    unsafe Glibc.connect(descriptor, address, socklen_t(MemoryLayout<sockaddr_un>.size))
                #elseif canImport(Musl)
                    unsafe Musl.connect(descriptor, address, socklen_t(MemoryLayout<sockaddr_un>.size))
                #elseif canImport(Darwin)
                    unsafe Darwin.connect(descriptor, address, socklen_t(MemoryLayout<sockaddr_un>.size))
                #endif
            }
        }
        guard result == 0 else { throw Files.Failure(path) }
    }
}
