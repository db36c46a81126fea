#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#elseif canImport(Darwin)
    internal import Darwin
#endif

/// The address at which a server listens and to which a sender connects.
public enum SocketEndpoint: Sendable, Hashable, CustomStringConvertible {
    /// A Unix-domain socket at a path.
    case path(String)

    /// A TCP port on the loopback address 127.0.0.1, with `TCP_NODELAY`.
    ///
    /// Any user of the machine may connect to it, so both ends must have ``HandshakeTokens``. A server that listens at
    /// port 0 gets a free port.
    case loopback(port: UInt16)

    /// The path, or address and port.
    public var description: String {
        switch self {
        case .path(let path): path
        case .loopback(let port): "127.0.0.1:\(port)"
        }
    }

    /// Checks that required tokens are present and valid.
    ///
    /// - Throws: `tokenRequired` or `invalidToken`.
    func check(_ tokens: HandshakeTokens?) throws(TransportError) {
        if let tokens { return try tokens.check() }
        guard case .loopback = self else { return }
        throw TransportError(
            .tokenRequired,
            path: description,
            "any user of this machine can connect to a port; set tokens at both ends"
        )
    }
}

/// A validated endpoint, in the form that the system needs.
enum SocketAddress: Sendable {
    case path(SocketPath)
    case loopback(port: UInt16)

    /// - Throws: `pathTooLong` or `invalidPath`.
    init(_ endpoint: SocketEndpoint) throws(TransportError) {
        switch endpoint {
        case .path(let path): self = .path(try SocketPath(path))
        case .loopback(let port): self = .loopback(port: port)
        }
    }

    var family: Int32 {
        if case .path = self { AF_UNIX } else { AF_INET }
    }

    /// Calls `body` with the address in the form that the system needs.
    ///
    /// A path that is too long for the system is resolved relative to `directory`, or to its own directory, opened for
    /// the call.
    func withSockaddr(
        in directory: Int32? = nil,
        _ body: (UnsafePointer<sockaddr>, socklen_t) throws(Errno) -> Void
    ) throws(Errno) {
        switch (self, directory) {
        case (.path(let path), _) where path.isWhole:
            try unsafe Self.withSockaddr(path: path.text, body)
        case (.path(let path), let directory?):
            try unsafe Self.withSockaddr(path: path.text(in: directory), body)
        case (.path(let path), nil):
            let directory = try Syscalls.openDirectory(path.directory)
            try unsafe Self.withSockaddr(path: path.text(in: directory.rawValue), body)
        case (.loopback(let port), _):
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = port.bigEndian
            address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
            try unsafe Self.withSockaddr(address, body)
        }
    }

    private static func withSockaddr(
        path: String,
        _ body: (UnsafePointer<sockaddr>, socklen_t) throws(Errno) -> Void
    ) throws(Errno) {
        var address = sockaddr_un()
        // The code that this protocol comes from leaves it unset; Linux then returns EINVAL.
        address.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { field in
            unsafe field.copyBytes(from: path.utf8.prefix(SocketPath.maximumBytes))
        }
        try unsafe withSockaddr(address, body)
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
