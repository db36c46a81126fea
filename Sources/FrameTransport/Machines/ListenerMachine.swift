/// Makes every decision on the listening side of a server: who is accepted, who has a place, when accepting pauses, how
/// many departed senders are remembered, and the end.
package struct ListenerMachine: Sendable {
    /// A command to the shell.
    package enum Command: Sendable, Hashable {
        /// Accept one connection, and report with ``accepted(isAdmitted:)``, ``wouldBlock()`` or
        /// ``acceptFailed(_:at:)``.
        case accept
        /// Start the connection that was accepted last, under this number, and report with ``started(_:)``.
        case admit(Int)
        /// Close the connection that was accepted last: there is no place for it.
        case turnAway
        /// Revoke the place of a connection that has yet to send its token, and close it, unless the token has just come;
        /// report with ``madeWay(_:isLeaving:)``.
        case makeWay(Int)
        case setDeadline(UInt64?)
        /// Let other connections have their turns, then call ``resume()``.
        case yield
        /// Release the socket and its path.
        case stopListening
        /// Present no further connections; the error, if any, is the reason.
        case endPresenting(TransportError?)
        /// Close, or drain, every connection.
        case closeConnections
        case drainConnections
        /// Drop a departed sender that was not taken from the queue of connections.
        case dropDeparted(Int)
        /// Everything has ended.
        case finished
    }

    /// The maximum number of connections accepted per turn.
    package static let acceptsPerTurn = 64

    private enum State {
        case listening
        /// The system is short of a resource: new senders wait for the end of the pause.
        case pausing
        case ended(TransportError?)
    }

    private let places: Int
    /// The maximum number of connections that have yet to send their token; nil if there are no tokens.
    private let handshakes: Int?
    private var state = State.listening
    private var commands: [Command] = []
    private var acceptsLeft = acceptsPerTurn
    private var hasYielded = false
    private var mayAccept = false
    private var pauses: Backoff
    private var lastID = 0
    private var connected: Set<Int> = []
    /// The connections that have yet to start, on threads of their own, and may then be presented at once.
    private var starting: Set<Int> = []
    private var hasEndedPresenting = false
    /// The connections that have yet to send their token, in order.
    private var handshaking: [Int] = []
    /// The connections that have made way, until they have ended.
    private var leaving: Set<Int> = []
    private var isFinished = false

    /// The connections in the queue for the program, and those among them that have departed, in order.
    private var queued: Set<Int> = []
    private var departed: [Int] = []
    /// The queued connections whose frames were dropped for lack of memory: they have been counted.
    private var emptied: Set<Int> = []

    /// The number of refused senders, by reason.
    private var refusals: [FrameServer.Statistics.Refusal: Int] = [:]

    /// The number of departed senders that were dropped before the program took them, or whose frames were.
    package private(set) var dropped = 0

    private var acceptPauses = 0

    package init(limits: FrameServer.Limits, usesTokens: Bool = false) {
        places = limits.maximumConnections
        handshakes = usesTokens ? max(1, min(limits.maximumHandshakes, places)) : nil
        pauses = Backoff(first: limits.firstAcceptPause, longest: limits.maximumAcceptPause)
    }

    /// The number of refused senders: for lack of a place, permission or token.
    package var refused: Int { refusals.values.reduce(0, +) }

    /// What the machine counts of a server's statistics.
    package var statistics: FrameServer.Statistics {
        var statistics = FrameServer.Statistics()
        (statistics.connections, statistics.acceptedConnections) = (connected.count, lastID)
        (statistics.refusals, statistics.droppedSenders) = (refusals, dropped)
        statistics.acceptPauses = acceptPauses
        if case .pausing = state { statistics.isAcceptingPaused = true }
        return statistics
    }

    /// The number of open connections.
    package var connectionCount: Int { connected.count }

    /// The number of connections waiting to be taken by the program.
    package var queuedCount: Int { queued.count }

    // MARK: Events

    /// Handles readiness, reported once per change: senders may have connected.
    package mutating func becameReady() {
        mayAccept = true
        if !hasYielded { acceptsLeft = Self.acceptsPerTurn }
    }

    /// Ends the pause after a shortage.
    package mutating func deadlinePassed() {
        guard case .pausing = state else { return }
        state = .listening
        becameReady()
    }

    /// Continues after other connections have had their turns.
    package mutating func resume() {
        hasYielded = false
        acceptsLeft = Self.acceptsPerTurn
    }

    /// Handles an accepted connection, whose user may or may not connect.
    package mutating func accepted(isAdmitted: Bool) {
        acceptsLeft -= 1
        pauses.reset()
        if isAdmitted { findPlace() } else { turnAway(for: .user) }
    }

    /// Records whether a connection leaves to make way for the one that was accepted last; if its token has just come, it
    /// stays.
    package mutating func madeWay(_ id: Int, isLeaving: Bool) {
        handshaking.removeAll { $0 == id }
        // On the server's own thread, it has ended by now.
        if isLeaving, connected.contains(id) { leaving.insert(id) }
        findPlace()
    }

    /// Records that a connection has started; without tokens it is queued by now.
    package mutating func started(_ id: Int) {
        starting.remove(id)
        endPresenting()
    }

    /// Records that a connection's sender has sent its token.
    package mutating func tokenShown(_ id: Int) {
        handshaking.removeAll { $0 == id }
    }

    /// No connection waits to be accepted.
    package mutating func wouldBlock() {
        mayAccept = false
    }

    /// A sender disconnected before being accepted.
    package mutating func acceptAborted() {
        acceptsLeft -= 1
    }

    /// Handles a failure to accept.
    package mutating func acceptFailed(_ error: Errno, at now: UInt64) {
        if error.isMisuse {
            return end(TransportError(.system, underlyingErrno: error.rawValue, "cannot accept more connections"))
        }
        // Usually a shortage of descriptors or memory: the connection stays in the backlog, and retrying at once would
        // only spin.
        state = .pausing
        acceptPauses += 1
        commands.append(.setDeadline(pauses.next().after(now)))
    }

    /// Records that a connection was queued for the program.
    package mutating func queued(_ id: Int) {
        queued.insert(id)
        // It may have ended before this was known.
        if !connected.contains(id) { keepDeparted(id) }
    }

    /// Records that the program has taken a connection from the queue, or that the queue had ended before it came.
    package mutating func taken(_ id: Int) {
        queued.remove(id)
        emptied.remove(id)
        departed.removeAll { $0 == id }
    }

    /// Records whether a departed sender that was to be dropped was still in the queue; otherwise the program has taken it.
    package mutating func departedDropped(_ id: Int, wasQueued: Bool) {
        let isCounted = emptied.remove(id) != nil
        if wasQueued, !isCounted { dropped += 1 }
    }

    /// Records that a departed sender's unread frames were dropped for lack of memory.
    package mutating func framesDropped(_ id: Int) {
        dropped += 1
        if queued.contains(id) { emptied.insert(id) }
    }

    /// Handles the end of a connection; one that was never ready had no valid token.
    package mutating func ended(_ id: Int, wasReady: Bool) {
        guard connected.remove(id) != nil else { return }
        leaving.remove(id)
        handshaking.removeAll { $0 == id }
        // A connection that was still in its handshake when the server ended was not refused.
        if !wasReady, !hasEnded { refusals[.token, default: 0] += 1 }
        if queued.contains(id) { keepDeparted(id) }
        settle()
    }

    /// Ends the server: it stops listening, and closes every connection cleanly.
    package mutating func close() {
        end(nil)
        commands.append(.closeConnections)
    }

    /// Ends the server: it stops listening, and ends every connection once what has arrived is delivered.
    package mutating func drain() {
        end(nil)
        commands.append(.drainConnections)
    }

    /// Handles an unusable listening socket.
    package mutating func failed(_ error: TransportError) {
        end(error)
    }

    // MARK: Commands

    /// Returns the next command; nil if there is none until the next event.
    package mutating func nextCommand() -> Command? {
        if !commands.isEmpty { return commands.removeFirst() }
        guard case .listening = state, mayAccept, !hasYielded else { return nil }
        guard acceptsLeft > 0 else {
            hasYielded = true
            return .yield
        }
        return .accept
    }

    // MARK: Changes of state

    /// Admits the connection that was accepted last, or has the oldest connection without a token make way for it if
    /// there are too many such connections, or there is no place.
    ///
    /// Senders without the token therefore keep out no sender that has it and sends it at once. If the threads of those
    /// that leave are busy, no more leave than may be without a token.
    private mutating func findPlace() {
        let isFull = connected.count - leaving.count >= places
        let isCrowded = handshakes.map { handshaking.count >= $0 } ?? false
        if isFull || isCrowded, let oldest = handshaking.first, leaving.count < handshakes ?? 0 {
            commands.append(.makeWay(oldest))
        } else if isFull || isCrowded {
            turnAway(for: .place)
        } else {
            lastID += 1
            connected.insert(lastID)
            starting.insert(lastID)
            if handshakes != nil { handshaking.append(lastID) }
            commands.append(.admit(lastID))
        }
    }

    private mutating func turnAway(for reason: FrameServer.Statistics.Refusal) {
        refusals[reason, default: 0] += 1
        commands.append(.turnAway)
    }

    private var hasEnded: Bool { if case .ended = state { true } else { false } }

    /// Remembers a departed sender, at most as many as there are places; beyond that the oldest is dropped.
    private mutating func keepDeparted(_ id: Int) {
        departed.append(id)
        guard departed.count > max(1, places) else { return }
        let oldest = departed.removeFirst()
        queued.remove(oldest)
        commands.append(.dropDeparted(oldest))
    }

    private mutating func end(_ error: TransportError?) {
        if case .ended = state { return }
        state = .ended(error)
        commands.append(.stopListening)
        endPresenting()
        settle()
    }

    /// Ends the queue for the program, behind every connection that was accepted before the end.
    private mutating func endPresenting() {
        guard case .ended(let error) = state, starting.isEmpty, !hasEndedPresenting else { return }
        hasEndedPresenting = true
        commands.append(.endPresenting(error))
    }

    private mutating func settle() {
        guard case .ended = state, connected.isEmpty, !isFinished else { return }
        isFinished = true
        commands.append(.finished)
    }
}
