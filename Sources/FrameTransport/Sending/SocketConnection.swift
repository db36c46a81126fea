/// The sending end: connects to a server's path, goes on trying until one listens there, and connects again after a drop.
///
///     let connection = SocketConnection(path: "/run/user/1000/rtc_SSFD")
///     try await connection.open(within: .seconds(10))
///     try await connection.send(FrameMessage(jpeg: jpeg, bufferSize: BufferSize(width: 562, height: 1218)))
///     connection.close()
///
/// Most programs hand it to a `SampleUploader`, which opens it and feeds it.
public final class SocketConnection: Sendable {
    /// How a connection opens, sends and ends.
    public struct Configuration: Sendable {
        /// How long to wait between two attempts to connect. Default: 100 ms.
        public var retryInterval: Duration = .milliseconds(100)

        /// Whether to connect again when the server has ended the connection, or it broke. Default: true.
        public var reopens = true

        /// How long the server may take nothing of a message before the connection counts as broken. Default: 10 s.
        public var sendTimeout: Duration = .seconds(10)

        /// How long an orderly close waits for the message under way, and for the server to close too. Default: 1 s.
        public var linger: Duration = .seconds(1)

        /// Whether bodies under 10,240 bytes are padded to that with zero bytes after the JPEG. Default: true.
        ///
        /// Deployed receivers stop for good when one of their 10,240-byte reads takes in the beginning of the next
        /// message, which a shorter body allows. A receiver of this package does not need it.
        public var padsShortBodies = true

        /// The thread that connects, and that goes on sending where the socket was full.
        public var thread = IOThread.shared

        /// The defaults.
        public init() {}
    }

    /// What happens to a connection over its life.
    public enum Event: Sendable, Hashable {
        /// A server has been reached.
        case didOpen
        /// The connection has ended; ``CloseReason/error`` is nil where it ended in order.
        case didClose(CloseReason)
    }

    /// The path of the server's socket.
    public let path: String

    private let driver: ConnectingDriver

    /// Describes a connection; nothing happens until it is opened.
    ///
    /// A path that no socket can have is reported by opening it.
    public init(path: String, configuration: Configuration = .init()) {
        self.path = path
        driver = ConnectingDriver(path: path, configuration: configuration)
    }

    deinit {
        close()
    }

    /// Whether a server is connected now.
    public var isOpen: Bool { driver.lane.isOpen }

    /// How the connection ended for good; nil before.
    public var closeReason: CloseReason? { driver.closed.value }

    /// The thread that connects and sends where the socket was full.
    public var thread: IOThread { driver.thread }

    /// Starts to connect, and goes on trying until a server listens at the path or this side closes.
    ///
    /// Opening what is open already, or being opened, does nothing.
    public func open() {
        driver.thread.execute { [driver] in driver.open() }
    }

    /// Connects, and waits until a server has been reached.
    ///
    /// - Parameter limit: how long to try; nil for ever. When it is over the attempts end, and may be started anew.
    /// - Throws: `openTimedOut`, `cancelled` where the caller's task is cancelled, `closed`, or what the path is wrong
    ///   with.
    public func open(within limit: Duration?) async throws(TransportError) {
        try thread.checkRunning()
        let opening = Openings.Opening(limit: limit)
        thread.execute { [driver] in driver.open(for: opening) }
        try await withTaskCancellationHandler {
            await opening.result.wait()
        } onCancel: {
            thread.execute { [driver] in driver.abandon(opening) }
        }.get()
    }

    /// Sends one frame, and returns when the system has taken all of it.
    ///
    /// - Throws: `closed` where no server is connected, `busy` while another message is being sent, or how the
    ///   connection was lost meanwhile. A message that was cut short is not sent again.
    public func send(_ message: FrameMessage) async throws(TransportError) {
        let sent = Latch<Result<Void, TransportError>>()
        try submit(message) { sent.set($0) }
        try await sent.wait().get()
    }

    /// Sends one frame without waiting.
    ///
    /// - Parameter completion: called once when the system has taken all of the message, or will not; on the caller's
    ///   thread before this returns, or on the connection's.
    /// - Throws: `closed` or `busy`; `completion` is not called then.
    package func submit(
        _ message: FrameMessage,
        completion: @escaping @Sendable (Result<Void, TransportError>) -> Void
    ) throws(TransportError) {
        switch try driver.lane.send(message, completion: completion) {
        case .sent: break
        case .waiting: thread.execute { [driver] in driver.watchProgress() }
        case .broken: thread.execute { [driver] in driver.endIfBroken() }
        }
    }

    /// What happens to the connection, from its making on; a sequence for one consumer. It ends with the connection.
    ///
    /// The latest 16 events are kept for a consumer that comes late.
    public var events: Events { Events(connection: self) }

    /// Ends the connection in order and for good: sends the rest of the message under way, and says that nothing follows.
    public func close() {
        driver.thread.execute { [driver] in driver.close() }
    }

    /// Waits until the connection, after ``close()``, has ended.
    public func closed() async -> CloseReason {
        await driver.closed.wait()
    }

    /// What happens to one connection.
    public struct Events: AsyncSequence, Sendable {
        fileprivate let connection: SocketConnection

        /// Starts to take events.
        public func makeAsyncIterator() -> Iterator {
            Iterator(connection: connection)
        }

        /// Takes the events of one connection.
        public struct Iterator: AsyncIteratorProtocol {
            fileprivate let connection: SocketConnection

            /// The next event; nil at the end, or where the caller's task is cancelled.
            public mutating func next(isolation actor: isolated (any Actor)?) async -> Event? {
                // A mailbox of events ends without an error.
                try? await connection.driver.events.next(isolation: actor)
            }

            /// The next event; nil at the end, or where the caller's task is cancelled.
            public mutating func next() async -> Event? {
                await next(isolation: nil)
            }
        }
    }
}
