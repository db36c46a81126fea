/// Makes every decision on the sending end of a connection: when to connect, which peer to accept, what to answer, when
/// to end.
///
/// Its driver reports events, each with the time in nanoseconds of a monotonic clock, and then executes commands until
/// ``nextCommand()`` returns nil. Most commands are answered by a report before the next command is taken; ``Command``
/// says which.
package struct SenderMachine: Sendable {
    /// The maximum number of reads per turn.
    package static let readsPerTurn = 16

    /// The maximum number of bytes per read.
    package static let bytesPerRead = 2048

    /// The number of requests after which a turn stops reading; a turn exceeds it by at most what one read can hold.
    package static let requestsPerTurn = 64

    package let settings: Settings

    // MARK: State

    var state = State.idle

    /// The callers that wait for the connection to open.
    var waiters: [Waiter] = []

    /// Whether to connect even if nobody waits for it.
    var isWantedForGood = false

    /// The failure of the latest attempt to connect, and its time.
    var lastFailure: (failure: AttemptFailure, time: UInt64)?

    /// The pauses after attempts that the server refused.
    var turnAwayPauses: Backoff

    /// The receiver's terms.
    package internal(set) var terms = ReceiverTerms()

    // MARK: Pending work

    var commands = CommandQueue()
    var turn = Turn()

    /// Whether the socket may have something to read: reports come once per change, so this is remembered.
    var isReadable = false

    private var published = SocketConnection.State.idle
    private var armedDeadline: UInt64?
    var watchesRoom = false

    package init(_ settings: Settings) {
        self.settings = settings
        let first = Duration.nanoseconds(Int64(clamping: settings.retryInterval))
        turnAwayPauses = Backoff(first: first, longest: first * 16)
    }

    /// The number of callers that wait for the connection to open.
    package var waitingCount: Int { waiters.count }

    /// The number of commands waiting to be executed.
    package var commandCount: Int { commands.count }

    /// The state of the connection, as published.
    package var publishedState: SocketConnection.State { state.published }

    /// The reason for the connection's permanent end; nil before.
    package var closeReason: CloseReason? { if case .closed(let reason) = state { reason } else { nil } }

    /// Returns the next command; nil if there is none until the next report.
    package mutating func nextCommand() -> Command? {
        if let command = commands.popFirst() { return command }
        if isReadable, let limit = readLimit {
            if turn.takeRead() { return .read(limit: limit) }
            if turn.askForAnother() { return .continueLater }
        }
        // Last, so that a change that is reversed within a turn costs no call.
        if watchesRoom != wantsRoom {
            watchesRoom = wantsRoom
            return .watchRoom(watchesRoom)
        }
        let deadline = nextDeadline
        if armedDeadline != deadline {
            armedDeadline = deadline
            return .setDeadline(deadline)
        }
        return nil
    }

    // MARK: Reports about time and readiness

    /// Handles readiness, which includes the end of the stream; reported once per change.
    package mutating func becameReady(readable: Bool, writable: Bool, at now: UInt64) {
        if readable { isReadable = true }
        turn.begin()
        switch state {
        case .connecting:
            if writable { commands.append(.checkConnected) }
        case .handshaking(let handshake):
            if writable, let offset = handshake.unsentOffset { commands.append(.writeToken(from: offset)) }
        case .open:
            if writable { commands.append(.lane(.resume)) }
        case .ending(let ending):
            // A peer that has gone completely is reported once more; only a write distinguishes it from one that still
            // reads.
            if ending.awaiting != .peersEnd, writable || readable { commands.append(.lane(.resume)) }
        case .idle, .waiting, .closed:
            isReadable = false
        }
    }

    /// Continues with the turn requested by ``Command/continueLater``.
    package mutating func continueTurn(at now: UInt64) {
        turn.isAskedFor = false
        turn.begin()
    }

    /// Handles the passing of the latest ``Command/setDeadline(_:)``.
    package mutating func deadlinePassed(at now: UInt64) {
        // A later deadline has yet to pass, even if it is late: what arrived before it may have to be reported first.
        let due = min(armedDeadline ?? now, now)
        armedDeadline = nil
        // What is due comes first: a caller whose limit has passed as well gives up only after it.
        switch state {
        case .waiting(let until) where until <= due: return attempt(at: now)
        case .ending(let ending) where ending.until <= due: return conclude(ending, at: now)
        default: expireWaiters(at: due)
        }
        switch state {
        case .connecting(let until):
            if until <= due { giveUpAttempt(after: nil, at: now) }
        case .handshaking(let handshake):
            if handshake.until <= due { giveUpAttempt(after: .unanswered, at: now) }
        case .open(let session):
            if let until = session.greetingUntil, until <= due { return refuseVersion(nil, at: now) }
            switch session.sending {
            case .flowing: break
            case .stalled(_, let until): if until <= due { commands.append(.lane(.report)) }
            case .broken(let error, let until): if until <= due { end(.failed(.lost(error)), at: now) }
            }
        case .idle, .waiting, .ending, .closed:
            break
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

    private var wantsRoom: Bool {
        switch state {
        case .connecting: true
        case .handshaking(let handshake): handshake.unsentOffset != nil
        case .open(let session): session.isStalled
        case .ending(let ending): ending.awaiting != .peersEnd
        case .idle, .waiting, .closed: false
        }
    }

    private var nextDeadline: UInt64? {
        let own: UInt64? =
            switch state {
            case .waiting(let until), .connecting(let until): until
            case .handshaking(let handshake): handshake.until
            case .open(let session): session.deadline
            case .ending(let ending): ending.until
            case .idle, .closed: nil
            }
        guard let first = waiters.lazy.compactMap(\.deadline).min() else { return own }
        return min(own ?? first, first)
    }

    // MARK: Changes

    mutating func enter(_ state: State) {
        self.state = state
        publish(state.published)
    }

    mutating func publish(_ state: SocketConnection.State) {
        guard state != published else { return }
        published = state
        commands.append(.tell(.state(state)))
    }

    mutating func changeTerms(_ change: (inout ReceiverTerms) -> Void) {
        var terms = terms
        change(&terms)
        guard terms != self.terms else { return }
        terms.revision += 1
        self.terms = terms
        commands.append(.tell(.terms(terms)))
    }
}
