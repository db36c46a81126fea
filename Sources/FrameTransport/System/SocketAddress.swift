#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#elseif canImport(Darwin)
    internal import Darwin
#endif

/// An endpoint as the system wants it, checked once.
struct SocketAddress: Sendable {
    /// The most bytes that a path may have: `sun_path` less its closing NUL.
    static let maximumPathBytes = MemoryLayout.size(ofValue: sockaddr_un().sun_path) - 1

    let endpoint: SocketEndpoint

    /// - Throws: `pathTooLong` or `invalidPath`, before any system call.
    init(_ endpoint: SocketEndpoint) throws(TransportError) {
        self.endpoint = endpoint
        if case .path(let path) = endpoint { try Self.check(path) }
    }

    private static func check(_ path: String) throws(TransportError) {
        let count = path.utf8.count
        guard count <= maximumPathBytes else {
            throw TransportError(
                .pathTooLong,
                path: path,
                "the path has \(count) bytes and a socket's may have \(maximumPathBytes); choose a shorter one"
            )
        }
        guard count > 0, !path.utf8.contains(0) else {
            throw TransportError(
                .invalidPath,
                path: path,
                count == 0 ? "the path is empty" : "the path contains a NUL byte"
            )
        }
    }

    var family: Int32 {
        if case .path = endpoint { AF_UNIX } else { AF_INET }
    }

    /// Calls `body` with the address as the system wants it.
    func withSockaddr(_ body: (UnsafePointer<sockaddr>, socklen_t) throws(Errno) -> Void) throws(Errno) {
        switch endpoint {
        case .path(let path):
            var address = sockaddr_un()
            // Left unset by the code this protocol comes from; Linux then answers EINVAL.
            address.sun_family = sa_family_t(AF_UNIX)
            unsafe withUnsafeMutableBytes(of: &address.sun_path) { field in
                unsafe field.copyBytes(from: path.utf8)
            }
            try unsafe Self.withSockaddr(address, body)
        case .loopback(let port):
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = port.bigEndian
            address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
            try unsafe Self.withSockaddr(address, body)
        }
    }

    private static func withSockaddr<Address>(
        _ address: Address,
        _ body: (UnsafePointer<sockaddr>, socklen_t) throws(Errno) -> Void
    ) throws(Errno) {
        try unsafe withUnsafePointer(to: address) { pointer throws(Errno) in
            try unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer throws(Errno) in
                try unsafe body(pointer, socklen_t(MemoryLayout<Address>.size))
            }
        }
    }
}
