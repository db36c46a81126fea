package import FrameWire

// The end of connections.

extension SenderMachine {
    /// Closes the connection cleanly and for good.
    package mutating func close(_ reason: ControlRequest.FinishReason, at now: UInt64) {
        switch state {
        case .handshaking(let handshake) where handshake.unsentOffset == nil:
            // The server may mistake the token for the start of a session, and its own is still to come: for an orderly
            // end, read it to its end.
            let until = now &+ settings.linger
            enter(
                .ending(Ending(.closedLocally(reason), until: until, awaiting: .peersEnd, next: .close, wasOpen: false))
            )
            settleWaiters(Self.closedError)
            commands.append(.shutdownSending)
        case .idle, .waiting, .connecting, .handshaking:
            finish(.closedLocally(reason))
        case .open(let session):
            if case .broken(let error, _) = session.sending {
                // The first cause counts for this connection; the close prevents further attempts.
                end(.failed(.lost(error)), at: now)
                return close(reason, at: now)
            }
            let last = session.hello == nil ? nil : SenderStatus(state: .stopped(reason))
            beginEnding(.closedLocally(reason), last: last, awaiting: .ownBytesAndPeersEnd, next: .close, at: now)
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
        last: SenderStatus?,
        awaiting: Awaiting,
        next: Afterwards,
        at now: UInt64
    ) {
        enter(.ending(Ending(reason, until: now &+ settings.linger, awaiting: awaiting, next: next)))
        let error: TransportError? = if case .closedLocally = reason { nil } else { loss(for: reason) }
        commands.append(.lane(.end(last: last, withdrawing: error)))
    }

    /// Ends an open connection at once.
    mutating func end(_ reason: CloseReason, at now: UInt64) {
        let next = settings.reopens ? Afterwards.reopen : .close
        conclude(Ending(reason, until: now, awaiting: .peersEnd, next: next), at: now)
    }

    /// Releases the socket, and continues as decided.
    mutating func conclude(_ ending: Ending, at now: UInt64) {
        switch ending.next {
        case .close:
            finish(ending.reason)
        case .closeLocally(let reason):
            leaveSocket(ending.reason)
            publish(.disconnected(ending.reason))
            finish(.closedLocally(reason))
        case .reopen:
            leaveSocket(ending.reason)
            publish(.disconnected(ending.reason))
            reopen(at: now)
        }
    }

    /// Ends for good; callers that wait for the connection to open get `error`.
    mutating func finish(_ reason: CloseReason, telling error: TransportError = closedError) {
        leaveSocket(reason)
        enter(.closed(reason))
        settleWaiters(error)
        commands.append(.tell(.ended(reason)))
    }

    private mutating func leaveSocket(_ reason: CloseReason) {
        isReadable = false
        watchesRoom = false
        commands.append(.closeSocket(loss(for: reason)))
        commands.append(.tell(.hello(nil)))
        commands.append(.tell(.info(ControlRequest.SessionInfo())))
        changeTerms { terms in
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
