internal import FrameWire

// Connecting, and the callers that wait for it.

extension SenderMachine {
    /// Retries connecting until a server is reached, or the connection is closed.
    package mutating func open(at now: UInt64) {
        isWantedForGood = true
        if case .idle = state { attemptFirst(at: now) }
    }

    /// Connects on behalf of a waiting caller, for at most `limit`, until `deadline`.
    package mutating func open(waiter id: Int, limit: Duration?, deadline: UInt64?, at now: UInt64) {
        let waiter = Waiter(id: id, limit: limit, deadline: deadline, start: now)
        switch state {
        case .open: return commands.append(.settle(waiter: id, nil))
        case .closed(.failed(let error)): return commands.append(.settle(waiter: id, error))
        case .closed: return commands.append(.settle(waiter: id, Self.closedError))
        case .ending(let ending):
            guard case .reopen = ending.next else { return commands.append(.settle(waiter: id, Self.closedError)) }
            waiters.append(waiter)
        case .connecting, .handshaking:
            waiters.append(waiter)
        case .waiting(let until):
            waiters.append(waiter)
            if waiter.givesUp(by: until) { attempt(at: now) }
        case .idle:
            waiters.append(waiter)
            attemptFirst(at: now)
        }
    }

    /// Stops waiting, because the calling task was cancelled; attempts that nobody else waits for end.
    package mutating func abandon(waiter id: Int, at now: UInt64) {
        guard let index = waiters.firstIndex(where: { $0.id == id }) else { return }
        waiters.remove(at: index)
        giveUpIfUnwanted()
        let error = TransportError(.cancelled, path: settings.name, "waiting for a server was cancelled")
        commands.append(.settle(waiter: id, error))
    }

    // MARK: Reports

    /// Handles an unusable endpoint or token: no later attempt can succeed.
    package mutating func endpointIsUnusable(_ error: TransportError, at now: UInt64) {
        guard case .connecting = state else { return }
        refuse(error)
    }

    /// Handles a connection made by the system.
    package mutating func connected(at now: UInt64) {
        guard case .connecting = state else { return }
        commands.append(.checkPeer)
    }

    /// Handles a failure to connect.
    package mutating func connectFailed(_ error: Errno, at now: UInt64) {
        guard case .connecting = state else { return }
        giveUpAttempt(after: .system(error), at: now)
    }

    /// Handles an accepted peer.
    package mutating func peerAdmitted(at now: UInt64) {
        guard case .connecting = state else { return }
        guard let tokens = settings.tokens else { return didOpen(at: now) }
        let token = TokenReader(expecting: tokens.expected)
        enter(.handshaking(Handshake(token: token, unsentOffset: 0, until: now &+ settings.handshakeTimeout)))
        commands.append(.writeToken(from: 0))
    }

    /// Handles a refused peer, which ends the connection for good.
    package mutating func peerRefused(_ error: TransportError, at now: UInt64) {
        guard case .connecting = state else { return }
        refuse(error)
    }

    /// Handles a socket that is connected to itself, which can happen over TCP if nobody listens at the port.
    package mutating func peerIsThisSide(at now: UInt64) {
        guard case .connecting = state else { return }
        giveUpAttempt(after: .system(.refused), at: now)
    }

    /// Records that the socket has accepted `count` more bytes of this side's token; 0 if it is full.
    package mutating func didWriteToken(_ count: Int, at now: UInt64) {
        guard case .handshaking(var handshake) = state, let offset = handshake.unsentOffset else { return }
        let isOut = offset + count >= settings.tokens?.own.count ?? 0
        handshake.unsentOffset = isOut ? nil : offset + count
        state = .handshaking(handshake)
        concludeHandshake(handshake, at: now)
    }

    /// Handles a failure to write this side's token.
    package mutating func tokenWriteFailed(_ error: Errno, at now: UInt64) {
        guard case .handshaking = state else { return }
        giveUpAttempt(after: .system(error), at: now)
    }

    // MARK: Decisions

    /// Makes the first attempt of an opening, for which those of an earlier one do not count.
    private mutating func attemptFirst(at now: UInt64) {
        turnAwayPauses.reset()
        attempt(at: now)
    }

    mutating func attempt(at now: UInt64) {
        isReadable = false
        enter(.connecting(until: now &+ settings.connectTimeout))
        commands.append(.connect)
    }

    /// Opens the connection after both tokens have been exchanged.
    mutating func concludeHandshake(_ handshake: Handshake, at now: UInt64) {
        guard handshake.unsentOffset == nil, handshake.token.remaining == 0 else { return }
        guard handshake.token.isRight else {
            return refuse(
                TransportError(.tokenRejected, path: settings.name, "the server's token is not the expected one")
            )
        }
        didOpen(at: now)
    }

    private mutating func didOpen(at now: UInt64) {
        isWantedForGood = true
        lastFailure = nil
        turnAwayPauses.reset()
        let connection = terms.connection + 1
        // A receiver that has to state its version gets nothing before.
        let mustGreet = settings.minimumVersion > 0
        let wants: ControlRequest.Wants = mustGreet ? [] : .frames
        commands.append(.lane(.open(connection: connection, wants: wants)))
        var session = Session(decoder: ControlDecoder())
        if mustGreet { session.greetingUntil = now &+ settings.handshakeTimeout }
        enter(.open(session))
        let sharesMemory = settings.sharesMemory
        changeTerms { terms in
            let revision = terms.revision
            terms = ReceiverTerms()
            (terms.revision, terms.connection, terms.isConnected) = (revision, connection, true)
            terms.mayShareMemory = sharesMemory
            terms.wants = wants
        }
        settleWaiters(nil)
    }

    mutating func giveUpAttempt(after failure: AttemptFailure?, at now: UInt64) {
        commands.append(.closeSocket(Self.closedError))
        retryLater(after: failure, at: now)
    }

    mutating func retryLater(after failure: AttemptFailure?, at now: UInt64) {
        isReadable = false
        watchesRoom = false
        lastFailure = failure.map { ($0, now) }
        // A server that refuses senders has enough of them.
        let pause =
            if case .turnedAway? = failure {
                turnAwayPauses.next().nanoseconds
            } else {
                retryPause
            }
        enter(.waiting(until: now &+ pause))
        expireWaiters(at: now)
        giveUpIfUnwanted()
    }

    /// Connects again after a connection has ended: at once if a caller that began to wait meanwhile gives up before the
    /// next attempt would be made.
    mutating func reopen(at now: UInt64) {
        let next = now &+ retryPause
        if waiters.contains(where: { $0.givesUp(by: next) }) { return attempt(at: now) }
        retryLater(after: nil, at: now)
    }

    private var retryPause: UInt64 { max(settings.retryInterval, Backoff.shortest.nanoseconds) }

    /// Rejects a server permanently.
    private mutating func refuse(_ error: TransportError) {
        finish(.failed(error), telling: error)
    }

    mutating func settleWaiters(_ error: TransportError?) {
        for waiter in waiters { commands.append(.settle(waiter: waiter.id, error)) }
        waiters.removeAll(keepingCapacity: true)
    }

    /// Fails the waiters whose time is up, with the result of the latest attempt.
    mutating func expireWaiters(at now: UInt64) {
        let expired = waiters.filter { waiter in waiter.deadline.map { $0 <= now } ?? false }
        guard !expired.isEmpty else { return }
        waiters.removeAll { waiter in waiter.deadline.map { $0 <= now } ?? false }
        // What is under way now, and ends with its last caller.
        let errors = expired.map { noServer(for: $0) }
        giveUpIfUnwanted()
        for (waiter, error) in zip(expired, errors) { commands.append(.settle(waiter: waiter.id, error)) }
    }

    private func noServer(for waiter: Waiter) -> TransportError {
        let limit = waiter.limit ?? .zero
        let underlyingErrno: Int32?
        // What failed before the caller waited says nothing about the time since.
        switch failure(since: waiter.start) {
        case .turnedAway?:
            return TransportError(
                .tokenRejected,
                path: settings.name,
                "the server closed the last connection made within \(limit) instead of sending its token;"
                    + " it expects a different token or none, or is full"
            )
        case .unanswered?:
            return TransportError(
                .openTimedOut,
                path: settings.name,
                "connected, but the handshake was not finished within \(limit); do both ends have the same token?"
            )
        case .system(let error)?: underlyingErrno = error.rawValue
        case nil: underlyingErrno = nil
        }
        return TransportError(
            .openTimedOut,
            path: settings.name,
            underlyingErrno: underlyingErrno,
            "no server was reached within \(limit); is one running, for the same user, at this path?"
        )
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
    private mutating func giveUpIfUnwanted() {
        guard waiters.isEmpty, !isWantedForGood else { return }
        switch state {
        case .connecting, .handshaking:
            commands.append(.closeSocket(Self.closedError))
            isReadable = false
            watchesRoom = false
            enter(.idle)
        case .waiting:
            enter(.idle)
        case .idle, .open, .ending, .closed:
            break
        }
    }

    static let closedError = TransportError(.closed, "the connection has been closed")
}
