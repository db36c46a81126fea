/// Decides everything about the listening side of a server: who is accepted, who has a place, when accepting pauses, how
/// many departed senders are remembered, and the end.
package struct ListenerMachine: Sendable {
    /// What the shell is to do.
    package enum Command: Sendable, Hashable {
        /// Accept one connection, and report with ``accepted(isAdmitted:)``, ``wouldBlock()`` or ``acceptFailed(_:isMisuse:at:)``.
        case accept
        /// Take up the connection that was accepted last, under this number.
        case admit(Int)
        /// Close the connection that was accepted last: there is no place for it.
        case turnAway
        /// Have a connection that has yet to show its token give way.
        case makeWay(Int)
        case setDeadline(UInt64?)
        /// Let others have their turns, then call ``resume()``.
        case yield
        /// Release the socket and its path, and present no further connection.
        case stopListening(TransportError?)
        /// Close, or drain, every connection.
        case closeConnections
        case drainConnections
        /// Drop a departed sender that nobody has taken from the queue of connections.
        case dropVisitor(Int)
        /// Everything has ended.
        case finished
    }

    /// How many connections one turn may accept.
    package static let acceptsPerTurn = 64

    private enum State {
        case listening
        /// The system is short of something: whoever comes waits for the end of the pause.
        case pausing
        case ended
    }

    private let places: Int
    /// How many connections may have yet to show their token; nil if there are no tokens.
    private let handshakes: Int?
    private var state = State.listening
    private var commands: [Command] = []
    private var acceptsLeft = acceptsPerTurn
    private var hasYielded = false
    private var mayAccept = false
    private var pauses: Backoff
    private var lastID = 0
    private var connected: Set<Int> = []
    /// Those that have yet to show their token, in order.
    private var handshaking: [Int] = []
    /// Those among them that give way, until they have ended.
    private var leaving: Set<Int> = []
    private var isFinished = false

    /// Those who wait in the queue of connections to be taken by the program, and those among them that have gone, in order.
    private var queued: Set<Int> = []
    private var departed: [Int] = []
    /// Those in the queue whose frames gave way for want of memory: they have been counted.
    private var emptied: Set<Int> = []

    /// How many were turned away, for want of a place, of rights or of a token.
    package private(set) var refused = 0

    /// How many departed senders were dropped with what the program had not taken: they themselves, or their frames.
    package private(set) var dropped = 0

    package init(limits: TransportLimits, usesTokens: Bool = false) {
        places = limits.connections
        handshakes = usesTokens ? max(1, min(limits.handshakes, places)) : nil
        pauses = Backoff(first: limits.firstAcceptPause, longest: limits.longestAcceptPause)
    }

    /// How many connections are open.
    package var connectionCount: Int { connected.count }

    /// How many connections wait to be taken by the program.
    package var queuedCount: Int { queued.count }

    // MARK: Events

    /// Somebody may have come; reported once for each change.
    package mutating func becameReady() {
        mayAccept = true
        if !hasYielded { acceptsLeft = Self.acceptsPerTurn }
    }

    /// The pause after a shortage is over.
    package mutating func deadlinePassed() {
        guard case .pausing = state else { return }
        state = .listening
        becameReady()
    }

    /// Others have had their turns.
    package mutating func resume() {
        hasYielded = false
        acceptsLeft = Self.acceptsPerTurn
    }

    /// A connection was accepted, whose user may connect or not.
    package mutating func accepted(isAdmitted: Bool) {
        acceptsLeft -= 1
        pauses.reset()
        if isAdmitted { makeWay() }
        guard isAdmitted, connected.count - leaving.count < places else {
            refused += 1
            commands.append(.turnAway)
            return
        }
        lastID += 1
        connected.insert(lastID)
        if handshakes != nil { handshaking.append(lastID) }
        commands.append(.admit(lastID))
    }

    /// The sender of a connection has shown its token.
    package mutating func tokenShown(_ id: Int) {
        handshaking.removeAll { $0 == id }
        // It was faster than the order to give way.
        leaving.remove(id)
    }

    /// Nobody waits to be accepted.
    package mutating func wouldBlock() {
        mayAccept = false
    }

    /// Somebody who had come was gone before being accepted.
    package mutating func acceptAborted() {
        acceptsLeft -= 1
    }

    /// Accepting failed.
    package mutating func acceptFailed(_ error: Errno, isMisuse: Bool, at now: UInt64) {
        if isMisuse {
            return end(TransportError(.system, systemError: error, "no more connections can be accepted"))
        }
        // A shortage of descriptors or memory, as a rule: the connection stays in the backlog, and trying again at once
        // would only spin.
        state = .pausing
        commands.append(.setDeadline(pauses.next().after(now)))
    }

    /// A connection was put into the queue of connections.
    package mutating func queued(_ id: Int) {
        queued.insert(id)
        // It may have gone before this was known.
        if !connected.contains(id) { departed(id) }
    }

    /// The program has taken a connection from the queue.
    package mutating func taken(_ id: Int) {
        queued.remove(id)
        emptied.remove(id)
        departed.removeAll { $0 == id }
    }

    /// The frames that a departed sender left unread gave way for want of memory.
    package mutating func framesDropped(_ id: Int) {
        dropped += 1
        if queued.contains(id) { emptied.insert(id) }
    }

    /// A connection has ended; one that was never ready had no right token.
    package mutating func ended(_ id: Int, wasReady: Bool) {
        guard connected.remove(id) != nil else { return }
        leaving.remove(id)
        handshaking.removeAll { $0 == id }
        // One that was still showing its token when the server ended was not turned away.
        if !wasReady, !hasEnded { refused += 1 }
        if queued.contains(id) { departed(id) }
        settle()
    }

    /// Ends the server: it stops listening, and closes every connection in order.
    package mutating func close() {
        end(nil)
        commands.append(.closeConnections)
    }

    /// Ends the server: it stops listening, and ends every connection once what has arrived is delivered.
    package mutating func drain() {
        end(nil)
        commands.append(.drainConnections)
    }

    /// The listening socket cannot be used.
    package mutating func failed(_ error: TransportError) {
        end(error)
    }

    // MARK: Commands

    /// What to do next; nil when there is nothing until the next event.
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

    /// Has the oldest connection without a token give way, if one more would be too many of them, or there is no place.
    ///
    /// So whoever cannot show the token keeps nobody out who can, and shows it at once.
    private mutating func makeWay() {
        guard let handshakes, let oldest = handshaking.first else { return }
        guard handshaking.count >= handshakes || connected.count - leaving.count >= places else { return }
        handshaking.removeFirst()
        leaving.insert(oldest)
        commands.append(.makeWay(oldest))
    }

    private var hasEnded: Bool { if case .ended = state { true } else { false } }

    /// Remembers as many departed senders as there are places; beyond that the oldest is dropped.
    private mutating func departed(_ id: Int) {
        departed.append(id)
        guard departed.count > max(1, places) else { return }
        let oldest = departed.removeFirst()
        queued.remove(oldest)
        if emptied.remove(oldest) == nil { dropped += 1 }
        commands.append(.dropVisitor(oldest))
    }

    private mutating func end(_ error: TransportError?) {
        if case .ended = state { return }
        state = .ended
        commands.append(.stopListening(error))
        settle()
    }

    private mutating func settle() {
        guard case .ended = state, connected.isEmpty, !isFinished else { return }
        isFinished = true
        commands.append(.finished)
    }
}
