package import FrameWire

/// Makes every decision on the sending end of a connection: when to connect, which peer to accept, what to answer, when
/// to end.
///
/// Its driver reports events, each on the connection's thread, and the machine calls the driver as its ``System``. After
/// each event the driver reads ``deadline`` and ``watchesRoom``.
package struct SenderMachine: Sendable {
    /// The maximum number of reads per turn.
    package static let readsPerTurn = 16

    /// The maximum number of bytes per read: so few are read onto the stack.
    package static let bytesPerRead = 1024

    /// The number of requests after which a turn stops reading; a turn exceeds it by at most what one read can hold.
    package static let requestsPerTurn = 64

    /// The longest pause between two attempts, unless the program's own is longer; a connection that lasted for as long did
    /// not come to nothing.
    package static let longestPause = Duration.seconds(5)

    /// The name of the endpoint in errors.
    let name: String

    let configuration: SocketConnection.Configuration

    /// Whether descriptors can be passed to the receiver.
    let sharesMemory: Bool

    // MARK: State

    var state = State.idle

    /// The callers that wait for the connection to open.
    var waiters: [Waiter] = []

    /// Whether to connect even if nobody waits for it.
    var isWantedForGood = false

    /// The failure of the latest attempt to connect, and its time.
    var lastFailure: (failure: AttemptFailure, time: UInt64)?

    /// The pauses after attempts that the server refused, and after connections that came to nothing.
    var pauses: Backoff

    /// When the connection opened last.
    var openedAt: UInt64 = 0

    // MARK: The receiver

    /// Decodes the requests of an open connection's server; nil once it has sent something else, as a plain server may.
    var decoder: ControlDecoder?

    /// What the receiver has said of what it takes.
    var receiver = SendLaneMachine.Receiver()

    /// The number of its refused preferences.
    var refusedPreferences: UInt64 = 0

    /// The receiver's terms.
    package private(set) var terms = ReceiverTerms()

    // MARK: The present event

    /// The time of the event, in nanoseconds of a monotonic clock.
    var now: UInt64 = 0

    var turn = Turn()

    /// Whether the socket may have something to read: reports come once per change, so this is remembered.
    var isReadable = false

    private var published = SocketConnection.State.idle

    /// - Parameters:
    ///   - name: The name of the endpoint in errors.
    ///   - configuration: The configuration.
    ///   - sharesMemory: Whether descriptors can be passed to the receiver.
    package init(name: String, _ configuration: SocketConnection.Configuration, sharesMemory: Bool = false) {
        (self.name, self.configuration, self.sharesMemory) = (name, configuration, sharesMemory)
        pauses = Backoff(first: configuration.retryInterval, longest: Self.longestPause)
    }

    /// The number of callers that wait for the connection to open.
    package var waitingCount: Int { waiters.count }

    /// The state of the connection, as published.
    package var publishedState: SocketConnection.State { state.published }

    // MARK: Events about time and readiness

    /// Handles readiness, which includes the end of the stream; reported once per change.
    package mutating func becameReady(readable: Bool, writable: Bool, _ system: some System) {
        now = system.now
        defer { proceed(system) }
        if readable { isReadable = true }
        if !turn.isOver { turn = Turn() }
        switch state {
        case .connecting:
            if writable { checkPeer(system) }
        case .handshaking:
            if writable { writeToken(system) }
        case .open:
            if writable { resumeLane(system) }
        case .ending(let ending):
            // A peer that has gone completely is reported once more; only a write distinguishes it from one that still
            // reads.
            if ending.awaiting != .peersEnd, writable || readable { resumeLane(system) }
        case .idle, .waiting, .closed:
            isReadable = false
        }
    }

    /// Continues with the turn requested by ``System/yield()``.
    package mutating func continueTurn(_ system: some System) {
        now = system.now
        turn = Turn()
        proceed(system)
    }

    /// Handles the passing of ``deadline``.
    package mutating func deadlinePassed(_ system: some System) {
        now = system.now
        defer { proceed(system) }
        // A later deadline has yet to pass, even if it is late: what arrived before it may have to be reported first.
        let due = min(deadline ?? now, now)
        let isDue = state.deadline.map { $0 <= due } ?? false
        // What is due comes first: a caller whose limit has passed as well gives up only after it.
        switch state {
        case .waiting where isDue: return attempt(system)
        case .ending(let ending) where isDue: return conclude(ending, system)
        default: expireWaiters(at: due, system)
        }
        switch state {
        case .connecting where isDue: giveUpAttempt(after: nil, system)
        case .handshaking where isDue: giveUpAttempt(after: .unanswered, system)
        case .open(.stalled(let before, _)) where isDue: checkProgress(since: before, system)
        case .open(.broken(let error, _)) where isDue: end(.failed(.lost(error)), system)
        case .idle, .waiting, .connecting, .handshaking, .open, .ending, .closed: break
        }
    }

    /// Reads until nothing is left, or others have to have their turns.
    mutating func proceed(_ system: some System) {
        while isReadable, let limit = readLimit {
            guard turn.reads > 0, turn.requests > 0 else {
                if !turn.isOver { system.yield() }
                return turn.isOver = true
            }
            turn.reads -= 1
            read(limit, system)
        }
    }

    // MARK: Decisions

    /// The number of bytes that may be read now; nil for none.
    private var readLimit: Int? {
        switch state {
        // Exactly the token: the bytes after it belong to the first request.
        case .handshaking(let handshake): handshake.token.remaining > 0 ? handshake.token.remaining : nil
        case .open: Self.bytesPerRead
        case .ending(let ending): ending.awaiting == .ownBytes ? nil : Self.bytesPerRead
        case .idle, .waiting, .connecting, .closed: nil
        }
    }

    /// Whether the next event may be that there is room to write.
    package var watchesRoom: Bool {
        switch state {
        case .connecting, .open(.stalled): true
        case .handshaking(let handshake): handshake.unsentOffset != nil
        case .ending(let ending): ending.awaiting != .peersEnd
        case .idle, .waiting, .open, .closed: false
        }
    }

    /// The time of the next ``deadlinePassed(_:)``; nil for never.
    package var deadline: UInt64? {
        let own = state.deadline
        guard let first = waiters.lazy.compactMap(\.opening.deadline).min() else { return own }
        return min(own ?? first, first)
    }

    // MARK: Changes

    mutating func enter(_ state: State, _ system: some System) {
        self.state = state
        publish(state.published, system)
    }

    mutating func publish(_ state: SocketConnection.State, _ system: some System) {
        guard state != published else { return }
        published = state
        system.publish(state)
    }

    /// Adopts what the receiver has said: first in the lane, so that a program that learns of it can act on it.
    mutating func adopt(_ receiver: SendLaneMachine.Receiver, answers: Bool = true, _ system: some System) {
        self.receiver = receiver
        let answer = answers ? status : nil
        note(system.lane { $0.follow(receiver, answering: answer) })
        let acceptsSharedMemory = sharesMemory && receiver.hello != nil && !receiver.declinesSharedMemory
        changeTerms(system) { terms in
            (terms.wants, terms.isPaused, terms.isGreeted) = (receiver.wants, receiver.isPaused, receiver.hello != nil)
            terms.acceptsSharedMemory = acceptsSharedMemory
        }
    }

    mutating func changeTerms(_ system: some System, _ change: (inout ReceiverTerms) -> Void) {
        var terms = terms
        change(&terms)
        terms.revision = self.terms.revision
        guard terms != self.terms else { return }
        terms.revision += 1
        self.terms = terms
        system.publish(terms)
    }
}

extension SenderMachine {
    /// What a machine calls to carry out its decisions: the driver of a socket, or a simulated one.
    ///
    /// Every call returns its result at once, and must not report an event to the same machine before it returns.
    package protocol System: AnyObject {
        /// The current time, in nanoseconds of a monotonic clock.
        var now: UInt64 { get }

        /// Creates a socket and connects it; the previous one has been closed.
        func connect() -> Attempt
        /// Checks the peer, once the connection is made; throws if a ``Attempt/pending`` one has failed.
        func checkPeer() throws(Errno) -> Peer
        /// Writes this side's token from `offset` on.
        func writeToken(from offset: Int) throws(Errno) -> Transfer
        /// Reads once; 0 bytes are the end of the stream.
        func read(into run: MemoryRun) throws(Errno) -> Transfer
        func shutDownSending()
        /// Returns whether the server has taken a frame or audio that was sent over the connection, as far as is known; asked
        /// before the socket is closed.
        func hasDelivered(isOrderly: Bool) -> Bool
        /// Closes the socket, if any, and takes it from the lane, whose frame fails with the error.
        func closeSocket(_ loss: TransportError)
        /// Lets other connections have their turns; ``continueTurn(_:)`` follows.
        func yield()

        /// Hands the socket over to the lane.
        func openLane(connection: Int)
        /// Changes the lane, and writes what the socket accepts.
        func lane(_ change: (inout SendLaneMachine) -> SendLaneMachine.Settlement?) -> SendLaneMachine.Progress

        func publish(_ state: SocketConnection.State)
        func publish(_ terms: ReceiverTerms)
        /// Publishes what the receiver states about itself; nothing for a new receiver.
        func publish(_ info: ControlRequest.SessionInfo)
        func deliver(_ request: ControlRequest)
        /// Counts a request that was not understood.
        func countSkippedRequest()
        /// Notes that the server has not taken everything that it has read.
        func noteDiscarded()
        /// Publishes the end, which is permanent. This is the last call.
        func end(_ reason: CloseReason)
    }

    /// What has come of an attempt to connect so far.
    package enum Attempt {
        case connected
        /// The socket becomes writable when the connection is made, or fails.
        case pending
        case failed(Errno)
        /// The endpoint or the token is invalid: no later attempt can succeed.
        case unusable(TransportError)
    }

    /// Whom the socket is connected to.
    package enum Peer {
        case admitted
        /// Somebody whom this side does not accept, which ends the connection for good.
        case refused(TransportError)
        /// The socket itself, which can happen over TCP if nobody listens at the port.
        case thisSide
    }
}
