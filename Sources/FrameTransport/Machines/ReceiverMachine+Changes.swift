internal import FrameWire

/// The consequences of events.
extension ReceiverMachine {
    mutating func becomeReady(_ system: some System) {
        updateDeadline(system)
        if let hello { request(.hello(hello), system) }
        if statesInfo { request(.info(configuration.info), system) }
        system.present()
    }

    private var statesInfo: Bool { configuration.info != ControlRequest.SessionInfo() }

    /// The hello that the sender gets at once: without one, it does not know that it may share memory, and obeys nothing.
    private var hello: ControlRequest.Hello? {
        if let hello = configuration.hello { return hello }
        return statesInfo || configuration.acceptsSharedMemory ? ControlRequest.Hello() : nil
    }

    /// Keeps what the hello requests from now on.
    mutating func adopt(_ hello: ControlRequest.Hello, _ system: some System) {
        wants = hello.wants
        assembler.keepsFrames = wants.contains(.frames)
        assembler.longestAudio = wants.contains(.audio) ? configuration.audioLimit : 0
        // Unwanted frames must not hold up anything.
        guard !assembler.keepsFrames, isReady else { return }
        if assembler.skipPendingFrame() { withdrawRequest(system) }
        room = nil
    }

    /// The peer has hung up: everything that it sent has arrived, and nothing holds that up any longer.
    ///
    /// A departed sender takes neither a place nor memory that others wait for, whether consumed or not.
    mutating func hangUp(_ system: some System) {
        hasHungUp = true
        leavesUnreadUntil = nil
        guard isReady else { return }
        withdrawRequest(system)
        room = nil
    }

    mutating func withdrawRequest(_ system: some System) {
        guard awaitsMemory else { return }
        awaitsMemory = false
        system.withdrawRequestForMemory()
    }

    /// Sets the deadline of a phase that has just begun.
    ///
    /// Deadlines are absolute: set when a phase begins, and not extended while bytes trickle in. Everything that has
    /// arrived has been read. If the deadline has passed and the phase is still the same, the connection fails.
    mutating func updateDeadline(_ system: some System) {
        guard case .receiving = state else { return }
        // A sender that was asked to be silent may be silent.
        let mustSpeak = !hasPaused && !wants.isEmpty
        let current = Phase(part: assembler.phase, messages: assembler.messages, mustSpeak: mustSpeak)
        if deadlinePhase == current {
            if isOverdue { failOverdue(system) }
            return
        }
        (deadlinePhase, isOverdue) = (current, false)
        let limits = configuration.limits
        let duration: Duration? =
            switch current.part {
            case .betweenMessages where !mustSpeak: nil
            case .betweenMessages: assembler.messages == 0 ? limits.firstFrameTimeout : limits.idleTimeout
            case .header: limits.headerTimeout
            case .body(let length): limits.bodyDuration(length: length)
            }
        deadline = duration.map { $0.after(now) }
    }

    /// Suspends deadlines for the peer; the deadline of an end, which is this side's, continues.
    mutating func suspendDeadline() {
        guard case .receiving = state else { return }
        (deadlinePhase, isOverdue) = (nil, false)
        deadline = nil
    }

    private mutating func failOverdue(_ system: some System) {
        let what =
            switch assembler.phase {
            case .betweenMessages: assembler.messages == 0 ? "its first message" : "its next message"
            case .header: "the header of a frame"
            case .body(let length): "the body of a frame of \(length) bytes"
            }
        finish(.failed(TransportError(.receiveTimedOut, "the sender took too long over \(what)")), system)
    }

    /// Handles the end of the stream between two messages.
    mutating func end(_ system: some System) {
        if case .draining(let reason) = state { return finish(reason, system) }
        finish(.closedByPeer(stopReason ?? .stoppedByUser), system)
    }

    mutating func fail(_ error: TransportError, _ system: some System) {
        // A stream that this side ends may end within a message, or fail.
        if case .draining(let reason) = state, error.isTruncation { return finish(reason, system) }
        finish(.failed(error), system)
    }

    /// Shuts down sending, and discards input until the peer has closed too, or the time for that is over.
    ///
    /// What a sender writes before it has seen the end is lost, and it can learn this only from what it finds unread. So
    /// nothing is read at first, if nothing else is lost; a sender that is in the middle of a message can finish that a
    /// little later.
    mutating func linger(_ reason: CloseReason, leavesUnread: Bool, _ system: some System) {
        state = .lingering(reason)
        leavesUnreadUntil = nil
        mayRead = true
        assembler.abandon()
        system.endDelivery(reason)
        // Other requests that the socket has not accepted by now are lost: the peer does not read.
        if !owesNotice { system.shutDownSending() }
        deadline = configuration.limits.linger.after(now)
        guard leavesUnread, !hasHungUp, let end = deadline else { return }
        leavesUnreadUntil = end
        deadline = (configuration.limits.linger / 10).after(now)
    }

    mutating func finish(_ reason: CloseReason, _ system: some System) {
        if case .closed = state { return }
        withdrawRequest(system)
        state = .closed(reason)
        assembler.abandon()
        deadline = nil
        system.close(reason)
    }
}

extension TransportError {
    /// Whether the stream ended within a message, as it may if this side ends it, or whether it failed.
    var isTruncation: Bool { code == .connectionLost || wireError?.isTruncation == true }
}

extension WireError {
    /// Whether the stream ended within a message.
    var isTruncation: Bool { code == .headTruncated || code == .bodyTruncated }
}
