public import FrameWire

/// Connects to a server's path, retries until a server listens there, and reconnects after a disconnect.
///
/// ```swift
/// let connection = SocketConnection(path: "/run/user/1000/rtc_SSFD")
/// try await connection.open(within: .seconds(10))
/// let size = BufferSize(width: 562, height: 1218)
/// try await connection.send(FrameMessage(jpeg: FrameBytes(jpeg), info: FrameInfo(bufferSize: size)))
/// connection.close()
/// ```
///
/// Most programs pass it to a `SampleUploader`, which opens it and sends on it.
///
/// It uses one descriptor at a time, however often it reopens. It lasts as long as it is referenced, and closes when its last
/// reference is released; no loop over one of its sequences is a reference.
///
/// Thread safety: any thread may use a connection at any time.
public final class SocketConnection: Sendable {
    /// The configuration of a connection.
    ///
    /// A time below zero counts as zero, with which its limit has passed at once, and one of more than 2^32 seconds as no
    /// limit.
    public struct Configuration: Sendable {
        /// The time between two attempts to connect, at least 1 ms.
        ///
        /// It doubles, up to five seconds, while a server ends the exchange of tokens, or connections end soon after they were
        /// opened and nothing that was sent over them was read. One over which a frame was sent and read, or that lasted for
        /// five seconds, begins again with this time.
        ///
        /// Default: 100 ms.
        public var retryInterval: Duration = .milliseconds(100)

        /// Whether to reconnect after the server has ended the connection or the connection has failed.
        ///
        /// Default: true.
        public var reopens = true

        /// The time for which the server may read nothing of a message before the connection counts as failed.
        ///
        /// Checked once per timeout: a server that stops reading in between is given up after at most twice that time.
        ///
        /// Default: 10 s.
        public var sendTimeout: Duration = .seconds(10)

        /// The time that an orderly close waits for the message in progress, and for the server to close too.
        ///
        /// Default: 1 s.
        public var linger: Duration = .seconds(1)

        /// Whether bodies shorter than 10,240 bytes are padded to that length with zero bytes after the JPEG.
        ///
        /// Default: true.
        ///
        /// Existing Jitsi receivers stop permanently when one of their 10,240-byte reads includes the start of the next
        /// message, which a shorter body allows. Receivers of this package do not need padding.
        public var padsShortBodies = true

        /// Whether this side sends audio to a receiver that requested it, until ``SocketConnection/offersAudio`` is set.
        ///
        /// Default: true.
        public var offersAudio = true

        /// What this side states about itself, once, to every receiver that has said hello and asks for it.
        ///
        /// Default: nothing. A `SampleUploader` adds the rate, and the connection the size of its first frame. It is stated
        /// right before that frame, or at once if the receiver wants no frames.
        public var info = ControlRequest.SessionInfo()

        /// The tokens that the server and this side exchange before the first frame.
        ///
        /// Default: nil.
        public var tokens: HandshakeTokens?

        /// The users whose server may be at a path; no byte is sent to another user's server.
        ///
        /// Default: this user and root.
        public var peers = PeerPolicy.sameUserOrRoot

        /// The time allowed for one attempt to connect.
        ///
        /// Default: 2 s.
        public var connectTimeout: Duration = .seconds(2)

        /// The time allowed for the server to send its token.
        ///
        /// Default: 5 s.
        public var handshakeTimeout: Duration = .seconds(5)

        /// The thread that connects, and that continues sending after the socket was full.
        public var thread = IOThread.shared

        /// Called with the beginning and end of every connection, failed attempts, and frames that cannot be encoded, for
        /// a log.
        ///
        /// Default: nil.
        ///
        /// It is called on the connection's thread, or on the queue of an uploader, and never while a lock is held. It must
        /// be quick. Of each ``TransportEvent/Code``, at most ten events in ten seconds are reported, and the next one
        /// states how many were omitted. Attempts that fail for the same reason count as one.
        public var log: (@Sendable (TransportEvent) -> Void)?

        /// Creates a configuration with the defaults.
        public init() {}
    }

    /// The state of a connection.
    public enum State: Sendable, Hashable {
        /// Not opened, or every attempt to open has been given up.
        case idle
        /// Trying to reach a server.
        case started
        /// Exchanging tokens with a server.
        case handshaking
        /// Connected: frames may be sent.
        case connected
        /// The server or a failure has ended the connection, which is opened again unless it is closed meanwhile.
        case disconnected(CloseReason)
        /// Ended for good.
        case ended(CloseReason)

        /// The reason for the latest end; nil if the state is not an end.
        public var closeReason: CloseReason? {
            switch self {
            case .disconnected(let reason), .ended(let reason): reason
            case .idle, .started, .handshaking, .connected: nil
            }
        }
    }

    /// The endpoint at which the server listens.
    public let endpoint: SocketEndpoint

    /// The path of the server's socket, or its address and port.
    public var path: String { endpoint.description }

    let driver: ConnectingDriver

    /// Creates a connection to a path; nothing happens until it is opened.
    ///
    /// An invalid path is reported when the connection is opened.
    public convenience init(path: String, configuration: Configuration = .init()) {
        self.init(to: .path(path), configuration: configuration)
    }

    /// Creates a connection to a path or a port; nothing happens until it is opened.
    ///
    /// An invalid path, and a port without tokens, are reported when the connection is opened.
    public init(to endpoint: SocketEndpoint, configuration: Configuration = .init()) {
        self.endpoint = endpoint
        driver = ConnectingDriver(endpoint, configuration: configuration)
    }

    deinit {
        close()
    }

    /// The current state.
    public var state: State { driver.states.value }

    /// The current state, and every later one; a sequence for one consumer, which ends with ``State/ended(_:)``.
    ///
    /// Every call returns an independent sequence. To wait for the end:
    ///
    /// ```swift
    /// for await case .ended(let reason) in sender.states { print(reason) }
    /// ```
    ///
    /// A busy consumer gets the latest 16 states. The sequence does not keep the connection: it ends, closed, with the last
    /// reference to it, so a program that only follows its states keeps it elsewhere.
    public var states: AsyncStream<State> { driver.states.values() }

    /// Whether a frame can be sent now.
    ///
    /// Unlike ``state``, this changes with the socket, before the connection's thread has been told.
    package var isOpen: Bool { driver.lane.withMachine { $0.isAccepting } }

    /// Reports to the connection's log what has become of its frames.
    package func report(
        _ level: TransportEvent.Level,
        _ code: TransportEvent.Code,
        _ message: @autoclosure () -> String
    ) {
        driver.log?.report(level, code, message())
    }

    /// ``Configuration/connectTimeout``.
    package var connectTimeout: Duration { driver.configuration.connectTimeout }

    /// ``Configuration/handshakeTimeout``.
    package var handshakeTimeout: Duration { driver.configuration.handshakeTimeout }

    /// The reason for the connection's permanent end; nil before.
    package var closeReason: CloseReason? { driver.closed.value }

    /// The number of bytes to which shorter bodies are padded; 0 if they are not.
    package var shortestBody: Int { driver.configuration.padsShortBodies ? FramePadding.minimumBodyByteCount : 0 }

    /// The thread that connects, and that continues sending after the socket was full.
    public var thread: IOThread { driver.thread }

    /// Starts connecting, and retries until a server listens at the path or this side closes.
    ///
    /// Calling this method on a connection that is open or being opened has no effect. If the path, the port or a token
    /// is unusable, the server is the wrong one (its token, or its user), or the connection's thread could not be started,
    /// the connection ends for good with that failure, as reported by ``state``.
    public func open() {
        driver.report { $0.open($1) }
    }

    /// Connects, and waits until a server has been reached.
    ///
    /// At least one attempt begins within the limit, however long ``Configuration/retryInterval`` is, unless the last
    /// connection is still ending when the limit passes.
    ///
    /// If the limit passes or the calling task is cancelled, the attempt that this call started ends, unless another
    /// caller waits for it or ``open()`` was called; it may be started again. Once a server has been reached, the
    /// connection behaves as after ``open()``. An unusable path, port or token ends the connection for good, and so
    /// does a server that sends a wrong token, or whose user ``Configuration/peers`` does not admit. A server that closes instead of sending its token is tried again, after
    /// growing pauses.
    ///
    /// - Parameter limit: The time limit, regardless of what an attempt is waiting for; nil for no limit.
    /// - Throws: `openTimedOut`; `cancelled` if the calling task is cancelled; `peerRefused` or `tokenRejected` if it
    ///   is the wrong server; `tokenRejected` also if the server kept closing instead of sending its token until the
    ///   limit passed; the error of the path; or, if the connection has ended for good, its failure or `closed`.
    public func open(within limit: Duration?) async throws(TransportError) {
        try await open(within: limit, elapsed: .zero)
    }

    /// Connects as ``open(within:)`` does, with a limit that counts from an earlier moment: other connections may have
    /// been tried since, and errors state the limit for all of them.
    ///
    /// With a limit of zero, one attempt has the time that it takes.
    package func open(within limit: Duration, since start: ContinuousClock.Instant) async throws(TransportError) {
        if limit == .zero { return try await wait(for: Opening(limit: .zero, deadline: nil)) }
        try await open(within: limit, elapsed: .now - start)
    }

    private func open(within limit: Duration?, elapsed: Duration) async throws(TransportError) {
        // What is left of the limit; errors state the limit itself.
        try await wait(for: Opening(limit: limit, deadline: limit.map { MonotonicClock.deadline(in: $0 - elapsed) }))
    }

    private func wait(for opening: Opening) async throws(TransportError) {
        guard !Task.isCancelled else { throw TransportError(.cancelled, "opening was cancelled") }
        try thread.checkRunning()
        driver.report { $0.open(for: opening, $1) }
        try await opening.result.wait { driver.report { $0.abandon(opening, $1) } }.get()
    }

    /// Connects as ``open(within:)`` does, without a task.
    ///
    /// - Parameters:
    ///   - limit: The time limit; zero for one attempt, of which only what takes no time succeeds.
    ///   - completion: Called once, on the connection's thread.
    /// - Throws: The thread's failure; in that case `completion` is not called.
    package func open(
        within limit: Duration,
        completion: @escaping @Sendable (Result<Void, TransportError>) -> Void
    ) throws(TransportError) {
        try thread.checkRunning()
        let opening = Opening(limit: limit, deadline: MonotonicClock.deadline(in: limit), completion: completion)
        driver.report { $0.open(for: opening, $1) }
    }

    /// Sends one frame, and returns when the system has accepted all of it.
    ///
    /// One frame at a time: a call while another frame is being sent, by whichever task, throws `busy` at once, and its frame is
    /// not queued. Let one task send them in order.
    ///
    /// If the calling task is cancelled, this method returns at once: a frame that has not been started is withdrawn,
    /// and a partly written one is completed on the wire, because a receiver cannot skip the rest of it.
    ///
    /// - Throws: `notSent` if the size is not at least 1x1, which would end the connection; `closed` if no server is
    ///   connected, `busy` while another frame is being sent, `paused` or `notWanted`
    ///   if the receiver wants no frame, `cancelled`, or the error with which the connection was lost meanwhile. A
    ///   frame that was cut short is not sent again.
    public func send(_ message: FrameMessage) async throws(TransportError) {
        guard !Task.isCancelled else { throw TransportError(.cancelled, "sending was cancelled") }
        let size = message.info.bufferSize
        guard size.width > 0, size.height > 0 else {
            let text = "a frame of \(size.width)x\(size.height) pixels cannot be sent; set the size of its image"
            throw TransportError(.notSent, path: path, text)
        }
        let lane = driver.lane
        let ticket = lane.makeTicket()
        let outcome = Latch<Result<Void, TransportError>>()
        try submit(message, ticket: ticket) { outcome.set($0) }
        // Most frames are written when they are accepted.
        if let outcome = outcome.value { return try outcome.get() }
        try await outcome.wait { lane.withMachine { $0.cancel(ticket) }?.tell() }.get()
    }

    /// Sends one frame without waiting, unless the connection that it was made for has ended.
    ///
    /// - Parameters:
    ///   - message: The frame.
    ///   - connection: The number of the connection; nil for any.
    ///   - ticket: The ticket with which the frame can be cancelled; 0 for none.
    ///   - completion: Called once, when the system has accepted the whole message or the message has failed; on the
    ///     caller's thread before this method returns, or on the connection's thread.
    /// - Throws: `closed`, `busy`, `paused` or `notWanted`, or `sharedMemory` if another uploader shares memory on this
    ///   connection; in that case `completion` is not called.
    package func submit(
        _ message: FrameMessage,
        for connection: Int? = nil,
        ticket: Int = 0,
        completion: @escaping @Sendable (Result<Void, TransportError>) -> Void
    ) throws(TransportError) {
        let progress = try driver.lane.advance { machine throws(TransportError) in
            try machine.submit(message, for: connection, ticket: ticket, completion: completion)
            return nil
        }
        followUp(progress)
    }

    /// Ends the connection cleanly and for good: sends what was accepted before, within ``Configuration/linger``, and
    /// then signals the end.
    ///
    /// A frame that an uploader still holds is not accepted yet, and is dropped: call its `finish()` first. The call returns
    /// at once; the connection has ended when ``state`` is ``State/ended(_:)``.
    ///
    /// - Parameter reason: The reason; a receiver that sent a hello gets it in the last message of the connection.
    public func close(_ reason: ControlRequest.FinishReason = .stoppedByUser) {
        driver.report { $0.close(reason, $1) }
    }

    /// Waits until the connection has ended for good: by ``close(_:)``, by the receiver's stop, or by a failure after
    /// which it does not reconnect.
    ///
    /// - Throws: `cancelled` if the calling task is cancelled first; the connection continues.
    public func closed() async throws(TransportError) -> CloseReason {
        try await driver.closed.value()
    }
}

/// A caller that waits for a connection to open.
package final class Opening: Sendable {
    package let result = Latch<Result<Void, TransportError>>()
    let limit: Duration?
    package let deadline: UInt64?
    private let completion: @Sendable (Result<Void, TransportError>) -> Void

    /// - Parameters:
    ///   - limit: The limit that errors state; nil for none.
    ///   - deadline: When it is over, in nanoseconds of the monotonic clock; nil, with a limit, for the end of one attempt.
    ///   - completion: Called once.
    package init(
        limit: Duration?,
        deadline: UInt64?,
        completion: @escaping @Sendable (Result<Void, TransportError>) -> Void = { _ in }
    ) {
        (self.limit, self.deadline, self.completion) = (limit, deadline, completion)
    }

    /// Tells whoever waits that the connection has opened or, with an error, that it will not; only the first result counts.
    func settle(_ error: TransportError?) {
        let outcome: Result<Void, TransportError> = error.map { .failure($0) } ?? .success(())
        if result.set(outcome) { completion(outcome) }
    }
}
