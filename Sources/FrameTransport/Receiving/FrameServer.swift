public import FrameWire
internal import Locking

/// Listens at a path, and gives out the senders that connect and the frames that they send.
///
///     let server = try FrameServer(at: "/run/user/1000/rtc_SSFD")
///     for try await connection in server.connections {
///         Task {
///             for try await frame in connection.frames { … }
///         }
///     }
///
/// The socket's file has mode 0600, and only this user and root may connect, unless told otherwise. A dead socket at the path is replaced; a
/// live one, and anything that is not a socket, is left alone and refused. The file goes when the server is closed or
/// its last holder lets go of it.
public final class FrameServer: Sendable {
    /// What becomes of frames that come faster than they are consumed.
    public enum Delivery: Sendable, Hashable {
        /// Every frame that crossed the socket is delivered; one is read ahead, then the sender has to wait.
        ///
        /// While the consumer is faster than the sender, up to ``longestReadAhead`` frames that have arrived already are
        /// read ahead, so that one change of thread brings several.
        case everyFrame
        /// The latest frame takes the place of one that has not been consumed; see ``FrameConnection/supersededFrames``.
        case newest

        /// The most frames that are read ahead of a consumer that is faster than the sender: 8.
        public static let longestReadAhead = 8
    }

    /// How a server receives.
    public struct Configuration: Sendable {
        /// What a sender may do.
        public var limits = TransportLimits()

        /// What becomes of frames that come faster than they are consumed.
        ///
        /// Default: every frame is delivered.
        public var delivery = Delivery.everyFrame

        /// Whose senders may connect to a path.
        ///
        /// Default: this user's and root's.
        public var peers = PeerPolicy.sameUserOrRoot

        /// The thread that accepts, and reads unless there are ``readers``.
        public var thread = IOThread.shared

        /// Further threads, which take turns in reading the connections.
        ///
        /// Default: none; ``thread`` reads them all. With two or more of them a server with many busy senders uses as
        /// many cores.
        public var readers: [IOThread] = []

        /// How much memory frames may take while they are received, over all servers that share it.
        public var memory = MemoryBudget.shared

        /// Where the memory of frames comes from.
        public var pool = BytePool.shared

        /// What each sender is told as soon as it has connected; a plain sender drops it unread.
        ///
        /// Default: nothing, so that senders send images alone and say nothing of themselves.
        public var hello: ControlHello?

        /// What each sender and this server show each other before the first frame.
        ///
        /// Default: nothing.
        public var tokens: HandshakeTokens?

        /// Sees every byte that is read for delivery, behind the tokens.
        ///
        /// Default: nobody.
        public var tap: (any WireTap)?

        /// The defaults.
        public init() {}
    }

    /// Where the server listens: for port 0, the port that it was given.
    public let endpoint: SocketEndpoint

    /// The path at which the server listens, or its address and port.
    public var path: String { endpoint.description }

    private let configuration: Configuration
    private let driver: ListeningDriver

    /// Starts to listen.
    ///
    /// - Parameters:
    ///   - path: At most 107 bytes (103 on Apple systems), or on Linux more if the last part has at most 82; in a
    ///     directory that exists, belongs to this user or root, and is not open to others, unless it has the sticky bit.
    ///   - configuration: How to receive.
    ///   - delegate: Takes connections and frames as they come, on the server's thread, in place of ``connections`` and
    ///     ``FrameConnection/frames``. The server holds it until it is closed.
    /// - Throws: `pathTooLong`, `invalidPath`, `unsafePath`, `notASocket`, `addressInUse`, `cannotCreate` or `system`.
    public convenience init(
        at path: String,
        configuration: Configuration = .init(),
        delegate: (any FrameServerDelegate)? = nil
    ) throws(TransportError) {
        try self.init(at: .path(path), configuration: configuration, delegate: delegate)
    }

    /// Starts to listen at a path, or at a port of the loopback address.
    ///
    /// - Parameters:
    ///   - endpoint: Where to listen.
    ///   - configuration: How to receive; for a port, with tokens.
    ///   - delegate: As for a path.
    /// - Throws: As for a path, and `tokenRequired` or `invalidToken`.
    public convenience init(
        at endpoint: SocketEndpoint,
        configuration: Configuration = .init(),
        delegate: (any FrameServerDelegate)? = nil
    ) throws(TransportError) {
        try configuration.thread.checkRunning()
        try endpoint.check(configuration.tokens)
        let socket = try ListeningSocket(at: endpoint, backlog: configuration.limits.backlog)
        self.init(socket, configuration, delegate)
    }

    /// Takes over a socket that listens already, as a service manager passes it.
    ///
    /// Its file is never removed, nor is its mode or backlog changed. Connections that come after ``close()`` or
    /// ``drain()`` wait for whoever listens next.
    ///
    /// - Parameters:
    ///   - socket: The server's from now on, also if this throws.
    ///   - configuration: How to receive; for a port, with tokens.
    ///   - delegate: As for a path.
    /// - Throws: `unfitSocket`, `tokenRequired`, `invalidToken` or `system`.
    public convenience init(
        inheriting socket: InheritedSocket,
        configuration: Configuration = .init(),
        delegate: (any FrameServerDelegate)? = nil
    ) throws(TransportError) {
        let socket = try ListeningSocket(inheriting: socket)
        try configuration.thread.checkRunning()
        try socket.endpoint.check(configuration.tokens)
        self.init(socket, configuration, delegate)
    }

    private init(
        _ socket: consuming ListeningSocket,
        _ configuration: Configuration,
        _ delegate: (any FrameServerDelegate)?
    ) {
        endpoint = socket.endpoint
        self.configuration = configuration
        driver = ListeningDriver(socket, configuration: configuration, delegate: delegate)
        configuration.thread.execute { [driver] in driver.start() }
    }

    deinit {
        close()
    }

    /// The senders, as they connect; a sequence for one consumer.
    ///
    /// It ends when the server is closed.
    ///
    /// A connection that nobody takes from here stays open, and sends no more than is read ahead.
    public var connections: Connections { Connections(server: self) }

    /// How many senders were turned away: over the limit, of another user, or without the right token.
    public var refusedConnections: Int { driver.counts.withLock { $0.refused } }

    /// How many senders had gone and were dropped with what the program had not taken.
    ///
    /// As many departed senders as ``TransportLimits/connections`` wait in ``connections``; beyond that the oldest is dropped. The
    /// frames that a departed sender left unread give way to those who need their memory; whoever takes them gets
    /// the error `visitorDropped`. A sender counts once.
    public var droppedVisitors: Int { driver.counts.withLock { $0.dropped } }

    /// Stops listening, removes the socket's file, and ends every connection in order.
    ///
    /// When this returns the path or port can be listened on again; connections end after that, see ``closed()``.
    public func close() {
        driver.acceptLastAndRelease()
        configuration.thread.execute { [driver] in driver.close() }
    }

    /// Stops listening, and ends every connection in order once what has arrived on it is delivered.
    ///
    /// When this returns the path or port can be listened on again. Senders are told at once that the connection ends, and have
    /// ``TransportLimits/linger`` to finish what they are writing. Every frame that is complete by then is delivered, as
    /// fast as it is consumed; one that is not is dropped. If nobody consumes, ``close()`` ends it.
    public func drain() {
        driver.acceptLastAndRelease()
        configuration.thread.execute { [driver] in driver.drain() }
    }

    /// Waits until the server, after ``close()`` or ``drain()``, has ended, its connections included.
    ///
    /// - Throws: `cancelled` if the caller's task is cancelled first.
    public func closed() async throws(TransportError) {
        try await driver.closed.value()
    }

    /// The senders that connect to one server.
    public struct Connections: AsyncSequence, Sendable {
        fileprivate let server: FrameServer

        /// Starts to take connections.
        public func makeAsyncIterator() -> Iterator {
            Iterator(server: server)
        }

        /// Takes the connections of one server.
        public struct Iterator: AsyncIteratorProtocol {
            fileprivate let server: FrameServer

            /// The next connection; nil when the server is closed, or if the caller's task is cancelled.
            ///
            /// - Throws: Why the server failed.
            public mutating func next(isolation actor: isolated (any Actor)?) async throws(TransportError)
                -> FrameConnection?
            {
                try await server.driver.mailbox.next(isolation: actor)
            }

            /// The next connection; nil when the server is closed, or if the caller's task is cancelled.
            ///
            /// - Throws: Why the server failed.
            public mutating func next() async throws(TransportError) -> FrameConnection? {
                try await next(isolation: nil)
            }
        }
    }
}

/// Takes what a ``FrameServer`` receives, as it comes, on the server's thread.
///
/// What these methods do delays every connection of that thread.
public protocol FrameServerDelegate: AnyObject, Sendable {
    /// A sender has connected.
    func connectionDidOpen(_ connection: FrameConnection)

    /// A frame has arrived.
    func connection(_ connection: FrameConnection, didReceive frame: Frame)

    /// A connection has ended; nothing more comes from it.
    func connection(_ connection: FrameConnection, didCloseFor reason: CloseReason)
}
