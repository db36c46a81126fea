public import FrameWire

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
        /// How long to wait between two attempts to connect.
        ///
        /// Default: 100 ms.
        public var retryInterval: Duration = .milliseconds(100)

        /// Whether to connect again when the server has ended the connection, or it broke.
        ///
        /// Default: true.
        public var reopens = true

        /// How long the server may take nothing of a message before the connection counts as broken.
        ///
        /// Looked at once in that time: a server that stops reading in between is given up after up to twice as long.
        ///
        /// Default: 10 s.
        public var sendTimeout: Duration = .seconds(10)

        /// How long an orderly close waits for the message under way, and for the server to close too.
        ///
        /// Default: 1 s.
        public var linger: Duration = .seconds(1)

        /// Whether bodies under 10,240 bytes are padded to that with zero bytes after the JPEG.
        ///
        /// Default: true.
        ///
        /// Deployed receivers stop for good when one of their 10,240-byte reads takes in the beginning of the next
        /// message, which a shorter body allows. A receiver of this package does not need it.
        public var padsShortBodies = true

        /// What the server and this side show each other before the first frame.
        ///
        /// Default: nothing.
        public var tokens: HandshakeTokens?

        /// Whose server may be at a path; no byte is sent to another's.
        ///
        /// Default: this user's and root's.
        public var peers = PeerPolicy.sameUserOrRoot

        /// How long one attempt to connect may take.
        ///
        /// Default: 2 s.
        public var connectTimeout: Duration = .seconds(2)

        /// How long the server may take to show its token.
        ///
        /// Default: 5 s.
        public var handshakeTimeout: Duration = .seconds(5)

        /// The thread that connects, and that goes on sending where the socket was full.
        public var thread = IOThread.shared

        /// The defaults.
        public init() {}
    }

    /// How a connection stands.
    public enum State: Sendable, Hashable {
        /// Nobody has opened it, or those who did have given up.
        case idle
        /// It looks for a server.
        case started
        /// A server is there; both show their tokens.
        case handshaking
        /// Frames may be sent.
        case connected
        /// It has ended for good, and not in order.
        case failed(TransportError)
        /// It has ended for good, in order.
        case closed
    }

    /// What happens to a connection over its life.
    public enum Event: Sendable, Hashable {
        /// A server has been reached.
        case didOpen
        /// The connection has ended; ``CloseReason/error`` is nil if it ended in order.
        case didClose(CloseReason)
    }

    /// Where the server listens.
    public let endpoint: SocketEndpoint

    /// The path of the server's socket, or its address and port.
    public var path: String { endpoint.description }

    let driver: ConnectingDriver

    /// Describes a connection; nothing happens until it is opened.
    ///
    /// A path that no socket can have is reported by opening it.
    public convenience init(path: String, configuration: Configuration = .init()) {
        self.init(to: .path(path), configuration: configuration)
    }

    /// Describes a connection to a path or a port; nothing happens until it is opened.
    ///
    /// A path that no socket can have, and a port without tokens, are reported by opening it.
    public init(to endpoint: SocketEndpoint, configuration: Configuration = .init()) {
        self.endpoint = endpoint
        driver = ConnectingDriver(endpoint, configuration: configuration)
    }

    deinit {
        close()
    }

    /// Whether a server is connected now.
    public var isOpen: Bool { driver.lane.isOpen }

    /// How the connection stands now.
    public var state: State { driver.states.value }

    /// The changes of ``state``, from its making on; a sequence for one consumer.
    ///
    /// It ends with the connection. The latest 16 changes are kept for a consumer that comes late.
    public var states: Updates<State> { Updates(mailbox: driver.states.changes, connection: self) }

    /// How the connection ended for good; nil before.
    public var closeReason: CloseReason? { driver.closed.value }

    /// The thread that connects and sends where the socket was full.
    public var thread: IOThread { driver.thread }

    /// Starts connecting, and goes on trying until a server listens at the path or this side closes.
    ///
    /// Opening what is open already, or being opened, does nothing. If the path, the port or a token can never be used, the
    /// connection ends for good with that failure, as ``state``, ``events`` and ``closed()`` tell.
    public func open() {
        driver.thread.execute { [driver] in driver.open() }
    }

    /// Connects, and waits until a server has been reached.
    ///
    /// If the limit passes or the caller's task is cancelled, the attempt that this call started ends, unless somebody else
    /// waits for it or ``open()`` was called; it may be started again. Once a server has been reached the connection is
    /// wanted for good, as after ``open()``. A path, port or token that can never be used ends the connection for good, and so
    /// does a server that shows a wrong token. One that closes in place of its token is tried again, after pauses that grow.
    ///
    /// - Parameter limit: How long to try, whatever an attempt is waiting for; nil for no limit.
    /// - Throws: `openTimedOut`, `cancelled` if the caller's task is cancelled, `peerRefused` or `tokenRejected` if it is
    ///   the wrong server, `tokenRejected` too if the server has closed in place of its token until the limit passed, what is
    ///   wrong with the path, or, if the connection has ended for good, its failure or `closed`.
    public func open(within limit: Duration?) async throws(TransportError) {
        try thread.checkRunning()
        let opening = Opening(limit: limit)
        thread.execute { [driver] in driver.open(for: opening) }
        try await withTaskCancellationHandler {
            await opening.result.wait()
        } onCancel: {
            thread.execute { [driver] in driver.abandon(opening) }
        }.get()
    }

    /// Sends one frame, and returns when the system has taken all of it.
    ///
    /// If the caller's task is cancelled this returns at once: a frame that has not begun is withdrawn, and one that is
    /// partly written is completed on the wire, since a receiver cannot skip the rest of it.
    ///
    /// - Throws: `closed` if no server is connected, `busy` while another frame is being sent, `paused` or `notWanted` if
    ///   the receiver wants no frame, `cancelled`, or how the connection was lost meanwhile. A frame that was cut short is
    ///   not sent again.
    public func send(_ message: FrameMessage) async throws(TransportError) {
        guard !Task.isCancelled else { throw TransportError(.cancelled, "sending was cancelled") }
        let lane = driver.lane
        let ticket = lane.makeTicket()
        followUp(try lane.send(message, ticket: ticket))
        if let settlement = lane.claim(ticket) {
            if let error = settlement.error { throw error }
            return
        }
        try await outcome(of: ticket, isolation: #isolation).get()
    }

    /// Waits for what becomes of a frame that was accepted.
    private func outcome(of ticket: Int, isolation: isolated (any Actor)?) async -> Result<Void, TransportError> {
        let lane = driver.lane
        return await withTaskCancellationHandler {
            // A closure runs where its caller does only if it uses the actor.
            await withCheckedContinuation(isolation: isolation) { continuation in
                lane.claim(ticket) { continuation.resume(returning: $0) }
            }
        } onCancel: {
            lane.cancel(ticket)
        }
    }

    /// Sends one frame without waiting.
    ///
    /// - Parameters:
    ///   - message: The frame.
    ///   - completion: Called once when the system has taken all of the message, or will not; on the caller's thread
    ///     before this returns, or on the connection's.
    /// - Throws: `closed`, `busy`, `paused` or `notWanted`; `completion` is not called then.
    package func submit(
        _ message: FrameMessage,
        completion: @escaping @Sendable (Result<Void, TransportError>) -> Void
    ) throws(TransportError) {
        followUp(try driver.lane.send(message, completion: completion))
    }

    /// What happens to the connection, from its making on; a sequence for one consumer.
    ///
    /// It ends with the connection.
    ///
    /// The latest 16 events are kept for a consumer that comes late.
    public var events: Updates<Event> { Updates(mailbox: driver.events, connection: self) }

    /// Ends the connection in order and for good: sends what was accepted before, within ``Configuration/linger``, and says
    /// that nothing follows.
    ///
    /// - Parameter reason: Why; a receiver that said hello is told, by the last message of the connection.
    public func close(_ reason: FinishReason = .stoppedByUser) {
        driver.thread.execute { [driver] in driver.close(reason) }
    }

    /// Waits until the connection has ended for good: by ``close(_:)``, by the receiver's stop, or by a failure after which
    /// it does not connect again.
    ///
    /// - Throws: `cancelled` if the caller's task is cancelled before; the connection goes on.
    public func closed() async throws(TransportError) -> CloseReason {
        try await driver.closed.value()
    }
}
