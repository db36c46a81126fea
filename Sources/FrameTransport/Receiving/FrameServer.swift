public import FrameWire
internal import Locking

/// Listens at a path, and delivers the senders that connect and the frames that they send.
///
/// ```swift
/// let server = try FrameServer(at: "/run/user/1000/rtc_SSFD")
/// try await server.run { connection in
///     for try await frame in connection.frames { record(frame) }
/// }
/// ```
///
/// The socket's file has mode 0600, and by default only this user and root may connect. A dead socket at the path is
/// replaced; a live one, and anything that is not a socket, is left alone and reported as an error. The file is removed
/// when the server is closed or released. If somebody else removes or replaces it before, the server binds the path again,
/// within about a second, and reports that to its log.
///
/// Thread safety: any thread may use a server at any time. The sequence of ``connections`` is for one consumer.
public final class FrameServer: Sendable {
    /// How frames are delivered that arrive faster than they are consumed.
    public enum Delivery: Sendable, Hashable {
        /// Delivers every frame; one is read ahead, then the sender has to wait.
        ///
        /// While the consumer is faster than the sender, up to `maximumReadAhead` frames that have already arrived
        /// are read ahead, so that one thread switch delivers several.
        case everyFrame
        /// Delivers the newest frame, which replaces one that has not been consumed; see
        /// ``FrameConnection/Statistics/supersededFrames``.
        case newest

        /// The maximum number of frames read ahead for a consumer that is faster than the sender: 8.
        package static let maximumReadAhead = 8
    }

    /// The configuration of a server.
    public struct Configuration: Sendable {
        /// The limits for senders.
        public var limits = Limits()

        /// How frames are delivered that arrive faster than they are consumed.
        ///
        /// Default: ``FrameServer/Delivery/everyFrame``.
        public var delivery = Delivery.everyFrame

        /// Which users may connect to a path.
        ///
        /// Default: this user and root.
        public var peers = PeerPolicy.sameUserOrRoot

        /// The thread that accepts connections, and reads them if there are no ``readers``.
        public var thread = IOThread.shared

        /// Additional threads, among which the connections are distributed for reading.
        ///
        /// Default: none; ``thread`` reads every connection. With two or more readers, a server with many busy senders
        /// uses as many cores.
        public var readers: [IOThread] = []

        /// The limit on the memory of frames being received, shared by servers.
        public var memory = FrameServer.MemoryBudget.shared

        /// The pool that provides the memory of frames.
        package var pool = FrameBytes.Pool.shared

        /// The hello that every sender is sent when it connects; a plain sender drops it unread.
        ///
        /// Default: nil, so that senders send only frames and no status.
        public var hello: ControlRequest.Hello?

        /// What this side states about itself to every sender, right after the hello; only the values are sent.
        ///
        /// Default: nothing. With values, every sender is sent a hello. To state something else to a sender, leave this
        /// empty, and send it `ControlRequest.info`.
        public var info = ControlRequest.SessionInfo()

        /// Whether senders on the same machine may share their frames' memory instead of encoding them.
        ///
        /// Default: false. With true, every sender is sent a hello, and a sender that supports it sends frames whose
        /// ``Frame/content`` is a shared image. The mapped memory of all connections may be half of ``memory``, apart from
        /// what bodies take; if there is no room, the connection falls back to JPEGs. It has no effect at a port, nor on systems without
        /// sealed memory.
        public var acceptsSharedMemory = false

        /// The tokens that every sender and this server exchange before the first frame.
        ///
        /// Default: nil.
        public var tokens: HandshakeTokens?

        /// Called with refusals, drops, failures, and the beginning and end of every connection, for a log.
        ///
        /// Default: nil.
        ///
        /// It is called on the server's threads and on those that consume frames, by several at once, and never while a
        /// lock is held. It must be quick: a call on a server's thread delays every connection of that thread. Of each
        /// ``TransportEvent/Code``, at most ten events in ten seconds are reported, and the next one states how many were
        /// omitted, so that no peer can flood a log; ``FrameServer/statistics`` counts them all.
        public var log: (@Sendable (TransportEvent) -> Void)?

        /// Called with the bytes that are read for delivery, after the tokens and before they are parsed.
        ///
        /// It is called on the thread that reads the connection, which waits for it. The chunks do not correspond to
        /// message boundaries.
        package var onRead: (@Sendable (_ connection: Int, _ bytes: Span<UInt8>) -> Void)?

        /// Creates a configuration with the defaults.
        public init() {}
    }

    /// The endpoint at which the server listens; for port 0, with the assigned port.
    public let endpoint: SocketEndpoint

    /// The path at which the server listens, or its address and port.
    public var path: String { endpoint.description }

    let driver: ListeningDriver

    /// Creates a server that listens at a path.
    ///
    /// - Parameters:
    ///   - path: The path, of at most 107 bytes (103 on Apple systems); on Linux it may be longer if the last component
    ///     has at most 82. Its directory must exist, belong to this user or root, and not be writable by others, unless
    ///     it has the sticky bit.
    ///   - configuration: The configuration.
    /// - Throws: `pathTooLong`, `invalidPath`, `unsafePath`, `notASocket`, `addressInUse`, `cannotCreate` or `system`.
    public convenience init(at path: String, configuration: Configuration = .init()) throws(TransportError) {
        try self.init(at: .path(path), configuration: configuration)
    }

    /// Creates a server that listens at a path, or at a port of the loopback address.
    ///
    /// - Parameters:
    ///   - endpoint: The path or port.
    ///   - configuration: The configuration; for a port, with tokens.
    /// - Throws: The errors of a server at a path, `tokenRequired` or `invalidToken`.
    public convenience init(at endpoint: SocketEndpoint, configuration: Configuration = .init()) throws(TransportError)
    {
        try configuration.checkThreads()
        try endpoint.check(configuration.tokens)
        let socket = try ListeningSocket(at: endpoint, backlog: configuration.limits.maximumBacklog)
        self.init(socket, configuration)
    }

    /// Creates a server that takes over a listening socket, as passed by a service manager.
    ///
    /// The server never removes the socket's file, and does not change its mode or backlog. Connections made after
    /// ``close()`` or ``drain()`` wait for the next process that listens.
    ///
    /// - Parameters:
    ///   - socket: The socket, which the server owns from now on, even if this throws.
    ///   - configuration: The configuration; for a port, with tokens.
    /// - Throws: `unfitSocket`, `tokenRequired`, `invalidToken` or `system`.
    public convenience init(
        inheriting socket: FrameServer.InheritedSocket,
        configuration: Configuration = .init()
    ) throws(TransportError) {
        let socket = try ListeningSocket(inheriting: socket)
        try configuration.checkThreads()
        try socket.endpoint.check(configuration.tokens)
        self.init(socket, configuration)
    }

    private init(_ socket: consuming ListeningSocket, _ configuration: Configuration) {
        endpoint = socket.endpoint
        driver = ListeningDriver(socket, configuration: configuration)
        driver.thread.execute { [driver] in driver.start() }
    }

    deinit {
        close()
    }

    /// The connections of senders, as they are made; a sequence for one consumer.
    ///
    /// ``run(_:)`` handles each of them in a task of its own.
    ///
    /// The sequence ends when the server is closed. It does not keep the server, which closes with its last reference: a
    /// program that only loops over its connections keeps it elsewhere, as a variable does to the end of its scope.
    ///
    /// A connection that is not consumed from this sequence stays open. With ``FrameServer/Delivery/everyFrame``, its
    /// sender can send no more than is read ahead. A frame of more than 1 MiB waits until the connection is taken; see
    /// ``FrameServer/MemoryBudget``.
    public var connections: Connections { Connections(mailbox: driver.mailbox) }

    /// A snapshot of the server's counters, and of what it holds.
    ///
    /// Complexity: O(*n*), where *n* is the number of connections.
    public var statistics: Statistics { driver.snapshot }

    /// Stops listening, removes the socket's file, and ends every connection cleanly.
    ///
    /// When this method returns, the path or port can be listened on again; the connections end later, see
    /// ``closed()``.
    public func close() {
        driver.acceptLastAndRelease()
        driver.thread.execute { [driver] in driver.close() }
    }

    /// Stops listening, and ends every connection cleanly once everything that has arrived on it is delivered.
    ///
    /// When this method returns, the path or port can be listened on again. Senders are told at once that the
    /// connection ends, and have ``FrameServer/Limits/linger`` to finish what they are writing. Every frame that is
    /// complete by then is delivered, as fast as it is consumed; an incomplete frame is dropped. If there is no
    /// consumer, ``close()`` ends the drain.
    public func drain() {
        driver.acceptLastAndRelease()
        driver.thread.execute { [driver] in driver.drain() }
    }

    /// Waits until the server and its connections have ended after ``close()`` or ``drain()``.
    ///
    /// - Throws: `cancelled` if the calling task is cancelled first.
    public func closed() async throws(TransportError) {
        try await driver.closed.value()
    }

    /// The connections to one server.
    public struct Connections: AsyncSequence, Sendable {
        fileprivate let mailbox: Mailbox<FrameConnection>

        /// Creates an iterator over the connections.
        public func makeAsyncIterator() -> Iterator {
            Iterator(mailbox: mailbox)
        }

        /// An iterator over the connections to one server.
        public struct Iterator: AsyncIteratorProtocol {
            fileprivate let mailbox: Mailbox<FrameConnection>

            /// Returns the next connection; nil when the server is closed, or if the calling task is cancelled.
            ///
            /// - Throws: The error with which the server failed.
            public mutating func next(isolation actor: isolated (any Actor)?) async throws(TransportError)
                -> FrameConnection?
            {
                try await mailbox.next()
            }

            /// Returns the next connection; nil when the server is closed, or if the calling task is cancelled.
            ///
            /// - Throws: The error with which the server failed.
            public mutating func next() async throws(TransportError) -> FrameConnection? {
                try await next(isolation: nil)
            }
        }
    }
}

extension FrameServer.Configuration {
    /// - Throws: `system` if a thread could not be started.
    fileprivate func checkThreads() throws(TransportError) {
        try thread.checkRunning()
        for reader in readers { try reader.checkRunning() }
    }
}

extension FrameServer {
    /// What happens while the server runs.
    private enum Event: Sendable {
        case connected(FrameConnection)
        case handled
        /// No more connections come: the server was closed or the task cancelled, or the server failed.
        case ended(TransportError?)
    }

    /// Handles every connection in a task of its own, until the server is closed.
    ///
    /// ```swift
    /// let server = try FrameServer(at: "/run/user/1000/rtc_SSFD")
    /// try await server.run { connection in
    ///     for try await frame in connection.frames { record(frame) }
    /// }
    /// ```
    ///
    /// A connection ends with its handler: when `handler` returns or throws, the connection is closed. An error that
    /// `handler` throws affects no other connection; unless it is the one that ended the connection's frames, or a
    /// `CancellationError`, it is reported to ``Configuration/log`` as `handlerFailed`.
    ///
    /// The method returns when no more connections come and every handler has returned: after ``close()``, which ends the
    /// connections, or ``drain()``, which first delivers what has arrived. If the calling task is cancelled, the handlers
    /// are cancelled, and the sequences that they consume end. The server is closed when the method returns or throws.
    ///
    /// It takes the connections from ``connections``, which is for one consumer.
    ///
    /// - Parameter handler: Called with each connection; several calls run at once.
    /// - Throws: The error with which the server failed, once every handler has returned; `cancelled` if the calling task
    ///   is cancelled.
    public func run(
        _ handler: @escaping @Sendable (FrameConnection) async throws -> Void
    ) async throws(TransportError) {
        defer { close() }
        // A discarding group needs iOS 17. In this one, each task that has ended is taken out at once.
        let failure = await withTaskGroup(of: Event.self) { group in
            var failure: TransportError?
            group.addTask { await self.nextEvent() }
            for await event in group {
                switch event {
                case .connected(let connection):
                    group.addTask { await self.nextEvent() }
                    group.addTask {
                        await self.handle(connection, handler)
                        return .handled
                    }
                case .handled:
                    break
                case .ended(let error):
                    failure = error
                }
            }
            return failure
        }
        if let failure { throw failure }
        if Task.isCancelled { throw TransportError(.cancelled, "the task that runs the server was cancelled") }
    }

    private func nextEvent() async -> Event {
        var connections = connections.makeAsyncIterator()
        do throws(TransportError) {
            guard let connection = try await connections.next() else { return .ended(nil) }
            return .connected(connection)
        } catch {
            return .ended(error)
        }
    }

    private func handle(
        _ connection: FrameConnection,
        _ handler: @Sendable (FrameConnection) async throws -> Void
    ) async {
        defer { connection.close() }
        do {
            try await handler(connection)
        } catch {
            // What has ended the frames is reported with the connection's end.
            if error is CancellationError { return }
            let transportError = error as? TransportError
            if let transportError, transportError == connection.framesError { return }
            driver.log?.report(
                .warning,
                .handlerFailed,
                "the program's handler of a connection failed: \(error)",
                connection: connection.id,
                peer: connection.peer,
                error: transportError
            )
        }
    }
}
