package import FrameWire

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
            let until = now &+ settings.linger
            let ending = Ending(.closedLocally(reason), until: until, awaiting: .peersEnd, next: .close, wasOpen: false)
            enter(.ending(ending), system)
            settleWaiters(Self.closedError, system)
            system.shutDownSending()
        case .idle, .waiting, .connecting, .handshaking:
            finish(.closedLocally(reason), system)
        case .open(let session):
            if case .broken(let error, _) = session.sending {
                // The first cause counts for this connection; the close prevents further attempts.
                end(.failed(.lost(error)), system)
                return close(reason, system)
            }
            let last = session.hello == nil ? nil : SenderStatus(state: .stopped(reason))
            beginEnding(.closedLocally(reason), last: last, awaiting: .ownBytesAndPeersEnd, next: .close, system)
        case .ending(var ending):
            guard case .reopen = ending.next else { return }
            ending.next = .closeLocally(reason)
            state = .ending(ending)
            settleWaiters(Self.closedError, system)
        case .closed:
            break
        }
    }

    /// Begins an orderly end.
    ///
    /// If this side ends, everything accepted before is written; a peer that ends gets only the message in progress.
    mutating func beginEnding(
        _ reason: CloseReason,
        last: SenderStatus?,
        awaiting: Awaiting,
        next: Afterwards,
        _ system: some System
    ) {
        enter(.ending(Ending(reason, until: now &+ settings.linger, awaiting: awaiting, next: next)), system)
        let error: TransportError? = if case .closedLocally = reason { nil } else { loss(for: reason) }
        laneProgressed(system.lane { $0.end(last: last, withdrawing: error) }, system)
    }

    /// Ends an open connection at once.
    mutating func end(_ reason: CloseReason, _ system: some System) {
        let next = settings.reopens ? Afterwards.reopen : .close
        conclude(Ending(reason, until: now, awaiting: .peersEnd, next: next), system)
    }

    /// Releases the socket, and continues as decided.
    mutating func conclude(_ ending: Ending, _ system: some System) {
        switch ending.next {
        case .close:
            finish(ending.reason, system)
        case .closeLocally(let reason):
            leaveSocket(ending.reason, system)
            publish(.disconnected(ending.reason), system)
            finish(.closedLocally(reason), system)
        case .reopen:
            let isFruitless = isFruitless(ending.reason, system)
            leaveSocket(ending.reason, system)
            publish(.disconnected(ending.reason), system)
            reopen(isFruitless: isFruitless, system)
        }
    }

    /// Ends for good; callers that wait for the connection to open get `error`.
    mutating func finish(_ reason: CloseReason, telling error: TransportError = closedError, _ system: some System) {
        leaveSocket(reason, system)
        enter(.closed(reason), system)
        settleWaiters(error, system)
        system.end(reason)
    }

    private mutating func leaveSocket(_ reason: CloseReason, _ system: some System) {
        isReadable = false
        system.closeSocket(loss(for: reason))
        system.note(nil)
        system.publish(ControlRequest.SessionInfo())
        changeTerms(system) { terms in
            let (revision, connection) = (terms.revision, terms.connection)
            terms = ReceiverTerms()
            (terms.revision, terms.connection) = (revision, connection)
        }
    }

    /// Returns the error for a frame that was not sent.
    private func loss(for reason: CloseReason) -> TransportError {
        reason.error
            ?? TransportError(.connectionLost, path: settings.name, "\(reason) before the message was sent")
    }
}
