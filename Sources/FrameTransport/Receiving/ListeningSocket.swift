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
        if case .path(let path) = address { claim = try PathClaim.binding(socket.rawValue, to: path) }
        do throws(Errno) {
            if case .loopback = address { try Syscalls.bindSocket(socket.rawValue, to: address) }
            try Syscalls.startListening(on: socket.rawValue, backlog: Int32(clamping: backlog))
        } catch {
            throw .cannotListen(at: endpoint, error)
        }
        return socket
    }
}

extension FrameServer {
    /// A listening socket inherited from a service manager, which created it and keeps it.
    ///
    /// ```swift
    /// if let socket = try FrameServer.InheritedSocket.passed().first {
    ///     let server = try FrameServer(inheriting: socket)
    /// }
    /// ```
    public struct InheritedSocket: Sendable, Hashable {
        /// The file descriptor in this process.
        public let descriptor: Int32

        /// The name given by the service manager (`FileDescriptorName=` in systemd); nil if none.
        public let name: String?

        /// Creates an inherited socket from a known descriptor.
        public init(descriptor: Int32, name: String? = nil) {
            self.descriptor = descriptor
            self.name = name
        }

        /// The ID of this process, for which `LISTEN_PID` is compared.
        package static var processID: Int32 { Syscalls.processID }

        /// Returns the sockets that systemd has passed to this process, as specified by sd_listen_fds(3); empty if there
        /// are none.
        ///
        /// `LISTEN_PID` must be the ID of this process, `LISTEN_FDS` is the number of sockets, from descriptor 3, and
        /// `LISTEN_FDNAMES` lists their names. The descriptors are set to close on exec. Every call returns the same
        /// sockets; each may be taken over once.
        ///
        /// - Throws: `unfitSocket` if the count is invalid or a descriptor is not open.
        public static func passed() throws(TransportError) -> [InheritedSocket] {
            try passed(from: Syscalls.firstPassed, Syscalls.environment)
        }

        /// Returns the sockets with descriptors from `first`, and the variables from `environment`.
        package static func passed(
            from first: Int32,
            _ environment: (String) -> String?
        ) throws(TransportError) -> [InheritedSocket] {
            guard let process = environment("LISTEN_PID"), process == String(Syscalls.processID),
                let text = environment("LISTEN_FDS")
            else { return [] }
            guard let count = Int32(text), (0...Syscalls.maximumPassed).contains(count) else {
                throw TransportError(.unfitSocket, "invalid LISTEN_FDS '\(text)': expected a number of descriptors")
            }
            let names = environment("LISTEN_FDNAMES").map(Self.names) ?? []
            var sockets: [InheritedSocket] = []
            for index in 0..<count {
                let descriptor = first + index
                do {
                    try Syscalls.setCloseOnExec(descriptor)
                } catch {
                    throw TransportError(
                        .unfitSocket,
                        underlyingErrno: error.rawValue,
                        "LISTEN_FDS announces \(count) descriptors, but descriptor \(descriptor) is not open"
                    )
                }
                let name = names.count == count ? names[sockets.count] : nil
                sockets.append(InheritedSocket(descriptor: descriptor, name: name))
            }
            return sockets
        }

        private static func names(_ text: String) -> [String] {
            text.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
        }

        /// Returns the endpoint at which the socket listens.
        ///
        /// - Throws: `unfitSocket` if it is not a stream socket that listens at a path or at a port of the loopback
        ///   address.
        func endpoint() throws(TransportError) -> SocketEndpoint {
            let found: Syscalls.Listener
            do {
                found = try Syscalls.listener(descriptor)
            } catch {
                throw TransportError(
                    .unfitSocket,
                    underlyingErrno: error.rawValue,
                    "descriptor \(descriptor) is not a socket"
                )
            }
            guard found.isStream else {
                throw unfit("is of type datagram or packet; frames need a stream socket (ListenStream= of systemd)")
            }
            guard found.isListening else {
                throw unfit(
                    "does not listen; remove Accept=yes from the systemd unit, which passes connections instead"
                )
            }
            switch found.address {
            case .path(let path): return .path(path)
            case .loopback(let port): return .loopback(port: port)
            case .other: throw unfit("listens neither at a path nor at a port of 127.0.0.1")
            }
        }

        private func unfit(_ reason: String) -> TransportError {
            TransportError(.unfitSocket, "the inherited socket (descriptor \(descriptor)) \(reason)")
        }
    }
}
