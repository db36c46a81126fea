/// Makes every decision on the listening side of a server: who is accepted, who has a place, when accepting pauses, how
/// many departed senders wait to be taken, and the end.
package struct ListenerMachine: Sendable {
    /// The maximum number of connections accepted per turn.
    package static let acceptsPerTurn = 64

    private enum State {
        case listening
        /// The system is short of a resource: new senders wait for the end of the pause.
        case pausing(until: UInt64)
        case ended(TransportError?)
    }

    private let places: Int
    /// The maximum number of connections that have yet to send their token; nil if there are no tokens.
    private let handshakes: Int?
    private var state = State.listening
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

    package init(limits: FrameServer.Limits, usesTokens: Bool = false) {
        places = limits.maximumConnections
        handshakes = usesTokens ? max(1, min(limits.maximumHandshakes, places)) : nil
        pauses = Backoff(first: limits.firstAcceptPause, longest: limits.maximumAcceptPause)
    }

    /// The number of open connections.
    package var connectionCount: Int { connected.count }

    /// The time of the next ``deadlinePassed()``; nil for never.
    package var deadline: UInt64? { if case .pausing(let end) = state { end } else { nil } }

    /// Whether to call ``acceptNext(_:)`` when the events so far have been reported: a connection that has ended meanwhile
    /// leaves its place to the next one.
    package var isAccepting: Bool {
        guard case .listening = state else { return false }
        return mayAccept && !hasYielded
    }

    // MARK: Events

    /// Handles readiness, reported once per change: senders may have connected.
    package mutating func becameReady() {
        mayAccept = true
        if !hasYielded { acceptsLeft = Self.acceptsPerTurn }
    }

    /// Ends the pause after a shortage.
    package mutating func deadlinePassed(_ system: some System) {
        guard case .pausing = state else { return }
        state = .listening
        system.count { $0.isAcceptingPaused = false }
        becameReady()
    }

    /// Continues after other connections have had their turns.
    package mutating func resume() {
        hasYielded = false
        acceptsLeft = Self.acceptsPerTurn
    }

    /// Accepts the next connection, or lets other connections have their turns; see ``isAccepting``.
    package mutating func acceptNext(_ system: some System) {
        guard acceptsLeft > 0 else {
            hasYielded = true
            return system.yield()
        }
        do throws(Errno) {
            guard let isAdmitted = try system.accept() else { return mayAccept = false }
            acceptsLeft -= 1
            accepted(isAdmitted: isAdmitted, system)
        } catch .again {
            mayAccept = false
        } catch .aborted {
            // The sender disconnected before it was accepted.
            acceptsLeft -= 1
        } catch {
            if error.isMisuse {
                let message = "cannot accept more connections"
                return end(TransportError(.system, underlyingErrno: error.rawValue, message), system)
            }
            // Usually a shortage of descriptors or memory: the connection stays in the backlog, and retrying at once would
            // only spin.
            state = .pausing(until: pauses.next().after(system.now))
            system.count { ($0.isAcceptingPaused, $0.acceptPauses) = (true, $0.acceptPauses + 1) }
            system.paused(error)
        }
    }

    /// Handles an accepted connection, whose user may or may not connect.
    package mutating func accepted(isAdmitted: Bool, _ system: some System) {
        pauses.reset()
        if isAdmitted { findPlace(system) } else { turnAway(for: .user, system) }
    }

    /// Records that a connection has started; without tokens it is queued by now.
    package mutating func started(_ id: Int, _ system: some System) {
        starting.remove(id)
        endPresenting(system)
    }

    /// Records that a connection's sender has sent its token.
    package mutating func tokenShown(_ id: Int) {
        handshaking.removeAll { $0 == id }
    }

    /// Handles the end of a connection; one that was never ready had no valid token.
    package mutating func ended(_ id: Int, wasReady: Bool, _ system: some System) {
        guard connected.remove(id) != nil else { return }
        let count = connected.count
        system.count { $0.connections = count }
        leaving.remove(id)
        handshaking.removeAll { $0 == id }
        // A connection that was still in its handshake when the server ended was not refused.
        if !wasReady, !hasEnded { system.count { $0.refusals[.token, default: 0] += 1 } }
        system.dropDeparted(beyond: max(1, places))
        settle(system)
    }

    /// Ends the server: it stops listening, and closes every connection cleanly.
    package mutating func close(_ system: some System) {
        end(nil, system)
        if !isFinished { system.closeConnections() }
    }

    /// Ends the server: it stops listening, and ends every connection once what has arrived is delivered.
    package mutating func drain(_ system: some System) {
        end(nil, system)
        if !isFinished { system.drainConnections() }
    }

    /// Handles an unusable listening socket.
    package mutating func failed(_ error: TransportError, _ system: some System) {
        end(error, system)
    }

    // MARK: Changes of state

    /// Admits the connection that was accepted last, or has the oldest connection without a token make way for it if
    /// there are too many such connections, or there is no place.
    ///
    /// Senders without the token therefore keep out no sender that has it and sends it at once. If the threads of those
    /// that leave are busy, no more leave than may be without a token.
    private mutating func findPlace(_ system: some System) {
        while isFull || handshakes.map({ handshaking.count >= $0 }) ?? false {
            guard leaving.count < handshakes ?? 0, let oldest = handshaking.first else {
                return turnAway(for: .place, system)
            }
            handshaking.removeFirst()
            if system.makeWay(oldest) { leaving.insert(oldest) }
        }
        lastID += 1
        connected.insert(lastID)
        starting.insert(lastID)
        if handshakes != nil { handshaking.append(lastID) }
        let (count, id) = (connected.count, lastID)
        system.count { ($0.connections, $0.acceptedConnections) = (count, id) }
        system.admit(lastID)
    }

    private var isFull: Bool { connected.count - leaving.count >= places }

    private func turnAway(for reason: FrameServer.Statistics.Refusal, _ system: some System) {
        system.count { $0.refusals[reason, default: 0] += 1 }
        system.turnAway(for: reason)
    }

    private var hasEnded: Bool { if case .ended = state { true } else { false } }

    private mutating func end(_ error: TransportError?, _ system: some System) {
        if hasEnded { return }
        state = .ended(error)
        system.count { $0.isAcceptingPaused = false }
        system.stopListening()
        endPresenting(system)
        settle(system)
    }

    /// Ends the queue for the program, behind every connection that was accepted before the end.
    private mutating func endPresenting(_ system: some System) {
        guard case .ended(let error) = state, starting.isEmpty, !hasEndedPresenting else { return }
        hasEndedPresenting = true
        system.endPresenting(error)
    }

    private mutating func settle(_ system: some System) {
        guard hasEnded, connected.isEmpty, !isFinished else { return }
        isFinished = true
        system.finish()
    }
}

extension ListenerMachine {
    /// What a machine calls to carry out its decisions: the driver of a listening socket, or a simulated one.
    ///
    /// What a call brings about at the connections is reported as an event after it has returned.
    package protocol System: AnyObject {
        /// The current time.
        var now: UInt64 { get }

        /// Changes what the server counts, which others may read at any time.
        func count(_ change: (inout FrameServer.Statistics) -> Void)

        /// Accepts one connection, and keeps it until it is admitted or turned away.
        ///
        /// - Returns: Whether its user may connect; nil if the socket has been released.
        func accept() throws(Errno) -> Bool?
        /// Starts the connection that was accepted last, under this number; ``started(_:_:)`` follows.
        func admit(_ id: Int)
        /// Closes the connection that was accepted last, for this reason.
        func turnAway(for reason: FrameServer.Statistics.Refusal)
        /// Revokes the place of a connection that has yet to send its token, and closes it; false if the token has just come.
        func makeWay(_ id: Int) -> Bool
        /// Reports that accepting has paused, because the system was short of a resource.
        func paused(_ error: Errno)
        /// Lets connections have their turns; ``resume()`` follows.
        func yield()

        /// Releases the socket and its path.
        func stopListening()
        /// Presents no further connections; the error, if any, is the reason.
        func endPresenting(_ error: TransportError?)
        func closeConnections()
        func drainConnections()
        /// Drops the first departed sender from the queue of connections, if more than `count` of them wait there.
        func dropDeparted(beyond count: Int)
        /// Reports that everything has ended. This is the last call.
        func finish()
    }
}
