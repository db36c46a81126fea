#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#elseif canImport(Darwin)
    internal import Darwin
#endif

/// Where a server listens: a path in the file system, checked once.
struct SocketAddress: Sendable {
    /// The most bytes that a path may have: `sun_path` less its closing NUL.
    static let maximumPathBytes = MemoryLayout.size(ofValue: sockaddr_un().sun_path) - 1

    let path: String

    /// - Throws: `pathTooLong` or `invalidPath`, before any system call.
    init(path: String) throws(TransportError) {
        let count = path.utf8.count
        guard count <= Self.maximumPathBytes else {
            throw TransportError(
                .pathTooLong,
                path: path,
                "the path has \(count) bytes and a socket's may have \(Self.maximumPathBytes); choose a shorter one"
            )
        }
        guard count > 0, !path.utf8.contains(0) else {
            throw TransportError(
                .invalidPath,
                path: path,
                count == 0 ? "the path is empty" : "the path contains a NUL byte"
            )
        }
        self.path = path
    }

    /// Calls `body` with the address as the system wants it.
    func withSockaddr(_ body: (UnsafePointer<sockaddr>, socklen_t) throws(Errno) -> Void) throws(Errno) {
        var address = sockaddr_un()
        // Left unset by the code this protocol comes from; Linux then answers EINVAL.
        address.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { field in
            unsafe field.copyBytes(from: path.utf8)
        }
        let length = socklen_t(MemoryLayout<sockaddr_un>.size)
        try unsafe withUnsafePointer(to: &address) { pointer throws(Errno) in
            try unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer throws(Errno) in
                try unsafe body(pointer, length)
            }
        }
    }
}
