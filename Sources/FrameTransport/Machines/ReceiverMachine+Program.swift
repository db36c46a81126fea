package import FrameWire

/// Events from the program and its consumer.
extension ReceiverMachine {
    /// Starts the connection.
    package mutating func start(at now: UInt64) {
        self.now = now
        if case .handshaking = state {
            commands.append(.setDeadline(configuration.limits.handshakeTimeout.after(now)))
        } else {
            becomeReady()
        }
    }

    /// Sends a request to the sender, which need not understand it; a request that cannot be queued is dropped.
    ///
    /// A sender obeys requests only after a hello, so the first one is preceded by it.
    package mutating func send(_ request: ControlRequest, at now: UInt64) {
        // The time that the sender has for its next message may begin with this request.
        self.now = now
        guard isReady else { return }
        switch request {
        case .decline: return declineSharedMemory()
        // The connection knows itself what the program has released.
        case .release: return
        case .hello, .pause, .resume, .stop, .prefer, .refresh, .ping: break
        }
        // A request that was dropped has no consequences here either: the sender does not know of it.
        if queue(request) { heed(request) }
        commands.append(.writeRequests)
    }

    /// - Returns: Whether the request was queued.
    private mutating func queue(_ request: ControlRequest) -> Bool {
        if case .hello(let hello) = request { return greet(with: hello) }
        return (hasSaidHello || greet(with: ControlRequest.Hello())) && outbox.add(request)
    }

    private mutating func greet(with hello: ControlRequest.Hello) -> Bool {
        var hello = hello
        hello.sharedMemory = shared.terms == .accepted ? ControlRequest.Hello.sharedMemoryVersion : nil
        let isQueued = outbox.add(.hello(hello))
        hasSaidHello = hasSaidHello || isQueued
        return isQueued
    }

    private mutating func heed(_ request: ControlRequest) {
        switch request {
        case .hello(let hello): heed(hello)
        case .pause: hasPaused = true
        case .resume: hasPaused = false
        case .decline, .release, .stop, .prefer, .refresh, .ping: break
        }
    }

    /// Ends the connection cleanly: shuts down sending, and discards input until the peer has closed too.
    ///
    /// - Parameters:
    ///   - reason: The reason; with nil the peer is told nothing, and may reconnect.
    ///   - now: The current time.
    package mutating func close(_ reason: FinishReason?, at now: UInt64) {
        self.now = now
        switch state {
        case .lingering, .closed: return
        case .handshaking, .showingToken, .receiving, .draining: break
        }
        if let reason { send(.stop(reason), at: now) }
        withdrawRequest()
        linger(.closedLocally(reason ?? .stoppedByUser))
    }

    /// Ends a connection whose sender has sent no token or a wrong one, if that is still the case, because its place is
    /// needed.
    package mutating func giveWay(at now: UInt64) {
        self.now = now
        switch state {
        case .handshaking: losePlace()
        case .lingering(let reason) where reason.error?.code == .tokenRejected:
            finish(reason)
        case .showingToken, .receiving, .draining, .lingering, .closed:
            break
        }
    }

    mutating func losePlace() {
        let message = "the sender had not sent its token when its place was needed"
        finish(.failed(TransportError(.handshakeTimedOut, message)))
    }

    /// Ends the connection cleanly, once everything that has arrived, or arrives until the sender stops, is delivered.
    package mutating func drain(at now: UInt64) {
        self.now = now
        switch state {
        case .handshaking, .showingToken:
            close(nil, at: now)
        case .receiving(var gate):
            if case .awaitingProgram = gate { gate = .open(room: nil) }
            state = .draining(gate)
            // A sender that has stated why it stops has itself ended the connection.
            drainReason = stopReason.map { .closedByPeer($0) } ?? .closedLocally(.stoppedByUser)
            commands.append(.shutDownSending)
            commands.append(.setDeadline(configuration.limits.linger.after(now)))
        case .draining, .lingering, .closed:
            break
        }
    }

    /// Ends the connection of a sender that sent too many consecutive undecodable frames.
    package mutating func undecodableLimitReached() {
        switch state {
        case .receiving, .draining: finish(.failed(.undecodable(configuration.limits.maximumUndecodableFrames)))
        case .handshaking, .showingToken, .lingering, .closed: break
        }
    }

    /// Handles that the program has taken the connection: from now on, large bodies ask for memory.
    package mutating func taken(at now: UInt64) {
        self.now = now
        isTaken = true
        guard case .awaitingProgram? = state.gate else { return }
        turn = Turn()
        setGate(.open(room: nil))
    }

    /// Continues after the consumer has made room.
    package mutating func roomAvailable(at now: UInt64) {
        self.now = now
        guard case .awaitingRoom? = state.gate else { return }
        turn = Turn()
        setGate(.open(room: nil))
    }

    /// Records how many frames the consumer has room for, behind the given bytes of waiting frames; if none,
    /// ``roomAvailable(at:)`` follows.
    package mutating func reserved(_ count: Int, behind waitingByteCount: Int = 0) {
        guard case .open? = state.gate else { return }
        burstByteCount = waitingByteCount
        if count > 0 {
            setGate(.open(room: count))
        } else {
            setGate(.awaitingRoom)
            // The consumer causes the wait.
            suspendDeadline()
        }
    }

    /// Handles a grant of memory.
    ///
    /// A grant that is no longer needed is returned at once.
    mutating func memoryGranted(_ grant: MemoryBudget.Grant, for request: Int, at now: UInt64) {
        guard case .awaitingMemory(request)? = state.gate else { return }
        // Before the body begins: if that fails, the grant is returned with it.
        assembler.take(grant)
        _ = memoryGranted(for: request, at: now)
    }

    /// Handles a grant of memory.
    ///
    /// - Returns: Whether the body for which it was requested still waits for it. Another body may have taken its place.
    package mutating func memoryGranted(for request: Int, at now: UInt64) -> Bool {
        self.now = now
        guard case .awaitingMemory(request)? = state.gate else { return false }
        setGate(.open(room: 1))
        admitPendingBody()
        return true
    }

    /// Continues after other connections have had their turns.
    package mutating func resume(at now: UInt64) {
        self.now = now
        hasYielded = false
        turn = Turn()
    }
}
