package import FrameWire

// Connecting, and the callers that wait for it.

extension SenderMachine {
    /// Retries connecting until a server is reached, or the connection is closed.
    package mutating func open(_ system: some System) {
        now = system.now
        defer { proceed(system) }
        isWantedForGood = true
        if case .idle = state { attemptFirst(system) }
    }

    /// Connects on behalf of a waiting caller.
    package mutating func open(for opening: Opening, _ system: some System) {
        now = system.now
        defer { proceed(system) }
        switch state {
        case .open: return opening.settle(nil)
        case .closed(let reason): return opening.settle(reason.error ?? Self.closedError)
        case .ending(let ending): guard case .reopen = ending.next else { return opening.settle(Self.closedError) }
        case .idle, .waiting, .connecting, .handshaking: break
        }
        let waiter = Waiter(opening: opening, start: now)
        waiters.append(waiter)
        switch state {
        case .idle: attemptFirst(system)
        // Every caller gets an attempt.
        case .waiting(let until): if waiter.givesUp(by: until) { attempt(system) }
        case .connecting, .handshaking, .open, .ending, .closed: break
        }
    }

    /// Stops waiting, because the calling task was cancelled; attempts that nobody else waits for end.
    package mutating func abandon(_ opening: Opening, _ system: some System) {
        guard let index = waiters.firstIndex(where: { $0.opening === opening }) else { return }
        now = system.now
        waiters.remove(at: index)
        giveUpIfUnwanted(system)
        opening.settle(TransportError(.cancelled, path: name, "waiting for a server was cancelled"))
    }

    // MARK: Connecting

    /// Makes the first attempt of an opening, for which those of an earlier one do not count.
    private mutating func attemptFirst(_ system: some System) {
        pauses.reset()
        attempt(system)
    }

    mutating func attempt(_ system: some System) {
        isReadable = false
        enter(.connecting(until: configuration.connectTimeout.after(now)), system)
        switch system.connect() {
        case .connected: checkPeer(system)
        case .pending: break
        case .failed(let error): giveUpAttempt(after: .system(error), system)
        case .unusable(let error): refuse(error, system)
        }
    }

    /// Goes on once the connection is made, or has failed.
    mutating func checkPeer(_ system: some System) {
        do throws(Errno) {
            switch try system.checkPeer() {
            case .refused(let error): return refuse(error, system)
            case .thisSide: return giveUpAttempt(after: .system(.refused), system)
            case .admitted: break
            }
        } catch {
            return giveUpAttempt(after: .system(error), system)
        }
        guard let tokens = configuration.tokens else { return didOpen(system) }
        let until = configuration.handshakeTimeout.after(now)
        enter(.handshaking(Handshake(token: TokenReader(expecting: tokens.expected), until: until)), system)
        writeToken(system)
    }

    mutating func writeToken(_ system: some System) {
        guard case .handshaking(var handshake) = state, let offset = handshake.unsentOffset else { return }
        do throws(Errno) {
            guard case .bytes(let count, _) = try system.writeToken(from: offset) else { return }
            let isOut = offset + count >= configuration.tokens?.own.count ?? 0
            handshake.unsentOffset = isOut ? nil : offset + count
        } catch {
            return giveUpAttempt(after: .system(error), system)
        }
        advance(handshake, system)
    }

    /// Opens the connection after both tokens have been exchanged.
    mutating func advance(_ handshake: Handshake, _ system: some System) {
        state = .handshaking(handshake)
        guard handshake.unsentOffset == nil, handshake.token.remaining == 0 else { return }
        guard handshake.token.isRight else {
            let message = "the server's token is not the expected one"
            return refuse(TransportError(.tokenRejected, path: name, message), system)
        }
        didOpen(system)
    }

    private mutating func didOpen(_ system: some System) {
        isWantedForGood = true
        lastFailure = nil
        openedAt = now
        let connection = terms.connection + 1
        system.openLane(connection: connection)
        (decoder, receiver, refusedPreferences) = (ControlDecoder(), SendLaneMachine.Receiver(), 0)
        enter(.open(.flowing), system)
        let sharesMemory = sharesMemory
        changeTerms(system) {
            $0 = ReceiverTerms(connection: connection, isConnected: true, mayShareMemory: sharesMemory)
        }
        settleWaiters(nil)
    }

    mutating func giveUpAttempt(after failure: AttemptFailure?, _ system: some System) {
        system.closeSocket(Self.closedError)
        isReadable = false
        lastFailure = failure.map { ($0, now) }
        // A server that refuses senders has enough of them.
        let pause = if case .turnedAway? = failure { pauses.next().nanoseconds } else { retryPause }
        wait(pause, system)
    }

    private mutating func wait(_ pause: UInt64, _ system: some System) {
        enter(.waiting(until: now &+ pause), system)
        expireWaiters(at: now, system)
        giveUpIfUnwanted(system)
    }

    /// Connects again after a connection has ended: at once if a caller that began to wait meanwhile gives up before the
    /// next attempt would be made, and after a pause that grows while connections come to nothing.
    mutating func reopen(isFruitless: Bool, _ system: some System) {
        if !isFruitless { pauses.reset() }
        let pause = isFruitless ? pauses.next().nanoseconds : retryPause
        let next = now &+ pause
        if waiters.contains(where: { $0.givesUp(by: next) }) { return attempt(system) }
        isReadable = false
        lastFailure = nil
        wait(pause, system)
    }

    /// Whether a connection has come to nothing: it ended soon, and nothing that was sent over it was taken.
    func isFruitless(_ reason: CloseReason, _ system: some System) -> Bool {
        if now &- openedAt >= Self.longestPause.nanoseconds { return false }
        return !system.hasDelivered(isOrderly: reason.error == nil)
    }

    private var retryPause: UInt64 { max(configuration.retryInterval, Backoff.shortest).nanoseconds }

    /// Rejects a server permanently.
    private mutating func refuse(_ error: TransportError, _ system: some System) {
        finish(.failed(error), telling: error, system)
    }

    private mutating func settleWaiters(_ error: TransportError?) {
        for waiter in waiters { waiter.opening.settle(error) }
        waiters.removeAll(keepingCapacity: true)
    }

    /// Fails the waiters whose time is up, with the result of the latest attempt.
    mutating func expireWaiters(at due: UInt64, _ system: some System) {
        let isAttempting =
            switch state {
            case .connecting, .handshaking: true
            case .idle, .waiting, .open, .ending, .closed: false
            }
        let expired = waiters.filter { $0.givesUp(by: due, duringAttempt: isAttempting) }
        guard !expired.isEmpty else { return }
        waiters.removeAll { $0.givesUp(by: due, duringAttempt: isAttempting) }
        // What is under way now, and ends with its last caller.
        let errors = expired.map { noServer(for: $0) }
        giveUpIfUnwanted(system)
        for (waiter, error) in zip(expired, errors) { waiter.opening.settle(error) }
    }

    private func noServer(for waiter: Waiter) -> TransportError {
        let limit = waiter.opening.limit ?? .zero
        // What failed before the caller waited says nothing about the time since.
        switch failure(since: waiter.start) {
        case .turnedAway?:
            let connection = limit == .zero ? "connection" : "last connection made within \(limit)"
            return TransportError(
                .tokenRejected,
                path: name,
                "the server closed the \(connection) instead of sending its token; it expects a different token "
                    + "or none, or is full"
            )
        case .unanswered?:
            let time = limit == .zero ? configuration.handshakeTimeout : limit
            return TransportError(
                .openTimedOut,
                path: name,
                "connected, but the handshake was not finished within \(time); do both ends have the same token?"
            )
        case .system(let error)?: return .noServer(at: name, within: limit, error)
        case nil: return .noServer(at: name, within: limit, nil)
        }
    }

    /// The reason that no attempt since then has succeeded, as far as it is known.
    private func failure(since start: UInt64) -> AttemptFailure? {
        let last = lastFailure.flatMap { $0.time >= start ? $0.failure : nil }
        if case .turnedAway? = last { return last }
        // What is under way tells more than what the system said before.
        if case .handshaking = state { return .unanswered }
        return last
    }

    /// Ends attempts for which nobody waits.
    private mutating func giveUpIfUnwanted(_ system: some System) {
        guard waiters.isEmpty, !isWantedForGood else { return }
        switch state {
        case .connecting, .handshaking:
            system.closeSocket(Self.closedError)
            isReadable = false
            enter(.idle, system)
        case .waiting:
            enter(.idle, system)
        case .idle, .open, .ending, .closed:
            break
        }
    }

    static let closedError = TransportError(.closed, "the connection has been closed")
}

// The end of connections.

extension SenderMachine {
    /// Closes the connection cleanly and for good.
    package mutating func close(_ reason: ControlRequest.FinishReason, _ system: some System) {
        now = system.now
        defer { proceed(system) }
        switch state {
        case .handshaking(let handshake) where handshake.unsentOffset == nil:
            // The server may mistake the token for the start of a session, and its own is still to come: for an orderly
            // end, read it to its end.
            begin(.closedLocally(reason), awaiting: .peersEnd, next: .close, wasOpen: false, system)
            settleWaiters(Self.closedError)
            system.shutDownSending()
        case .idle, .waiting, .connecting, .handshaking:
            finish(.closedLocally(reason), system)
        case .open(.broken(let error, _)):
            // The first cause counts for this connection; the close prevents further attempts.
            end(.failed(.lost(error)), system)
            close(reason, system)
        case .open:
            let last = receiver.hello == nil ? nil : SenderStatus(state: .stopped(reason))
            beginEnding(.closedLocally(reason), last: last, awaiting: .ownBytesAndPeersEnd, next: .close, system)
        case .ending(var ending):
            guard case .reopen = ending.next else { return }
            ending.next = .closeLocally(reason)
            state = .ending(ending)
            settleWaiters(Self.closedError)
        case .closed:
            break
        }
    }

    /// Begins an orderly end.
    ///
    /// If this side ends, everything accepted before is written; a peer that ends gets only the message in progress.
    mutating func beginEnding(
        _ reason: CloseReason,
        last: SenderStatus? = nil,
        awaiting: Awaiting,
        next: Afterwards,
        _ system: some System
    ) {
        begin(reason, awaiting: awaiting, next: next, system)
        let error: TransportError? = if case .closedLocally = reason { nil } else { loss(for: reason) }
        laneProgressed(system.lane { $0.end(last: last, withdrawing: error) }, system)
    }

    private mutating func begin(
        _ reason: CloseReason,
        awaiting: Awaiting,
        next: Afterwards,
        wasOpen: Bool = true,
        _ system: some System
    ) {
        let until = configuration.linger.after(now)
        enter(.ending(Ending(reason: reason, until: until, awaiting: awaiting, next: next, wasOpen: wasOpen)), system)
    }

    /// Ends an open connection at once.
    mutating func end(_ reason: CloseReason, _ system: some System) {
        conclude(reason, configuration.reopens ? .reopen : .close, system)
    }

    mutating func conclude(_ ending: Ending, _ system: some System) { conclude(ending.reason, ending.next, system) }

    /// Releases the socket, and continues as decided.
    private mutating func conclude(_ reason: CloseReason, _ next: Afterwards, _ system: some System) {
        if case .close = next { return finish(reason, system) }
        let isFruitless = isFruitless(reason, system)
        leaveSocket(reason, system)
        publish(.disconnected(reason), system)
        if case .closeLocally(let reason) = next { return finish(.closedLocally(reason), system) }
        reopen(isFruitless: isFruitless, system)
    }

    /// Ends for good; callers that wait for the connection to open get `error`.
    private mutating func finish(
        _ reason: CloseReason,
        telling error: TransportError = closedError,
        _ system: some System
    ) {
        leaveSocket(reason, system)
        enter(.closed(reason), system)
        settleWaiters(error)
        system.end(reason)
    }

    private mutating func leaveSocket(_ reason: CloseReason, _ system: some System) {
        isReadable = false
        system.closeSocket(loss(for: reason))
        system.publish(ControlRequest.SessionInfo())
        changeTerms(system) { $0 = ReceiverTerms(connection: $0.connection) }
    }

    /// Returns the error for a frame that was not sent.
    private func loss(for reason: CloseReason) -> TransportError {
        reason.error ?? TransportError(.connectionLost, path: name, "\(reason) before the message was sent")
    }
}
