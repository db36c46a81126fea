/// A socket that listens, and the claim to its path if it has one.
struct ListeningSocket: ~Copyable {
    /// The endpoint at which it listens; for port 0, with the assigned port.
    let endpoint: SocketEndpoint

    /// Whether unaccepted connections are lost when this closes: nobody else listens on this socket.
    let isOwn: Bool

    /// The path that this process has claimed, from the root, wherever the process works by now; nil if it has claimed none.
    private let claimed: SocketPath?
    private let backlog: Int

    // In this order: the path is released before the socket is closed.
    private var claim: PathClaim?
    private var socket: OwnedDescriptor

    /// The descriptor; nil while the path is lost and cannot be bound again.
    var rawValue: Int32? { socket.rawValue >= 0 ? socket.rawValue : nil }

    /// Binds and listens.
    init(at endpoint: SocketEndpoint, backlog: Int) throws(TransportError) {
        let address = try SocketAddress(endpoint)
        var claim: PathClaim?
        let socket = try Self.listen(at: endpoint, address, &claim, backlog: backlog)
        switch address {
        case .path(let path):
            let folder = path.isAbsolute ? "" : Syscalls.workingDirectory.map { $0 + "/" }
            claimed = folder.flatMap { try? SocketPath($0 + path.text) }
            self.endpoint = endpoint
        case .loopback(let port):
            claimed = nil
            self.endpoint = .loopback(port: (try? Syscalls.port(of: socket.rawValue)) ?? port)
        }
        self.backlog = backlog
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
        (claimed, backlog) = (nil, 0)
        claim = nil
        self.socket = socket
        isOwn = false
    }

    /// Whether senders no longer reach this socket, although this process has claimed the path.
    var isLost: Bool {
        if claimed == nil { return false }
        return switch claim {
        case .some(let claim): claim.isLost
        case nil: true
        }
    }

    /// Closes the socket, and binds another one to the same path; if that fails, to be tried again.
    mutating func bindAgain() throws(TransportError) {
        giveUp()
        guard let claimed else { return }
        var claim: PathClaim?
        let socket = try Self.listen(at: endpoint, .path(claimed), &claim, backlog: backlog)
        self.claim = claim.take()
        self.socket = socket
    }

    /// Closes the socket and releases the path, which counts as lost.
    mutating func giveUp() {
        // The lock as well: it may be another server's by now, which must not be kept from listening here.
        claim = nil
        socket = OwnedDescriptor(-1)
    }

    /// Makes a socket that listens at an address, and claims its path.
    private static func listen(
        at endpoint: SocketEndpoint,
        _ address: SocketAddress,
        _ claim: inout PathClaim?,
        backlog: Int
    ) throws(TransportError) -> OwnedDescriptor {
        let socket: OwnedDescriptor
        do throws(Errno) {
            socket = try Syscalls.makeSocket(for: address)
        } catch {
            throw .cannotListen(at: endpoint, error)
        }
        if case .path(let path) = address { claim = try PathClaim(binding: socket.rawValue, to: path) }
        do throws(Errno) {
            if case .loopback = address { try Syscalls.bindSocket(socket.rawValue, to: address) }
            try Syscalls.startListening(on: socket.rawValue, backlog: Int32(clamping: backlog))
        } catch {
            throw .cannotListen(at: endpoint, error)
        }
        return socket
    }
}
