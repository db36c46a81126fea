/// A socket that listens, and the claim to its path if it has one.
struct ListeningSocket: ~Copyable {
    /// The endpoint at which it listens; for port 0, with the assigned port.
    let endpoint: SocketEndpoint

    // In this order: the path is released before the socket is closed.
    private let claim: PathClaim?
    private let socket: OwnedDescriptor

    var rawValue: Int32 { socket.rawValue }

    /// Binds and listens.
    init(at endpoint: SocketEndpoint, backlog: Int) throws(TransportError) {
        let address = try SocketAddress(endpoint)
        let socket = try Self.makeSocket(for: address, at: endpoint)
        var claim: PathClaim?
        var bound = endpoint
        switch address {
        case .path(let path): claim = try PathClaim(binding: socket.rawValue, to: path)
        case .loopback: bound = try Self.bind(socket.rawValue, to: address, at: endpoint)
        }
        try Self.listen(on: socket.rawValue, at: endpoint, backlog: backlog)
        self.endpoint = bound
        self.claim = claim.take()
        self.socket = socket
        isOwn = true
    }

    /// Takes over a listening socket.
    ///
    /// This process has no claim to its path, which belongs to whoever passed the socket.
    init(inheriting inherited: FrameServer.InheritedSocket) throws(TransportError) {
        let socket = OwnedDescriptor(inherited.descriptor)
        let endpoint = try inherited.endpoint()
        do {
            try Syscalls.adoptListener(socket.rawValue)
        } catch {
            throw TransportError(.system, underlyingErrno: error.rawValue, "the inherited socket cannot be used")
        }
        self.endpoint = endpoint
        claim = nil
        self.socket = socket
        isOwn = false
    }

    /// Whether unaccepted connections are lost when this closes: nobody else listens on this socket.
    let isOwn: Bool

    private static func makeSocket(
        for address: SocketAddress,
        at endpoint: SocketEndpoint
    ) throws(TransportError) -> OwnedDescriptor {
        do {
            return try Syscalls.makeSocket(for: address)
        } catch {
            throw PathClaim.failure(error, at: endpoint.description)
        }
    }

    private static func bind(
        _ socket: Int32,
        to address: SocketAddress,
        at endpoint: SocketEndpoint
    ) throws(TransportError) -> SocketEndpoint {
        do {
            try Syscalls.bindSocket(socket, to: address)
            return .loopback(port: try Syscalls.port(of: socket))
        } catch {
            throw PathClaim.failure(error, at: endpoint.description)
        }
    }

    private static func listen(on socket: Int32, at endpoint: SocketEndpoint, backlog: Int) throws(TransportError) {
        do {
            try Syscalls.startListening(on: socket, backlog: Int32(clamping: backlog))
        } catch {
            throw PathClaim.failure(error, at: endpoint.description)
        }
    }
}
