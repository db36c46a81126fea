package import FrameWire

// How connections end.

extension SenderMachine {
    /// Closes the connection in order and for good.
    package mutating func close(_ reason: FinishReason, at now: UInt64) {
        switch state {
        case .handshaking(let handshake) where handshake.unsentOffset == nil:
            // The server may take the token for the beginning of a session, and its own is still to come: to be told of an
            // orderly end it must be read to its end.
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
                // The first cause counts, for this connection; the close ends the attempts that would follow.
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
    /// What was accepted before is written if this side ends; a peer that ends gets no more than the message under way.
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

    /// Ends a connection that is open, at once.
    mutating func end(_ reason: CloseReason, at now: UInt64) {
        let next = settings.reopens ? Afterwards.reopen : .close
        conclude(Ending(reason, until: now, awaiting: .peersEnd, next: next), at: now)
    }

    /// Leaves the socket, and goes on as it was decided.
    mutating func conclude(_ ending: Ending, at now: UInt64) {
        switch ending.next {
        case .close:
            finish(ending.reason)
        case .closeLocally(let reason):
            leaveSocket(ending.reason)
            commands.append(.tell(.event(.didClose(ending.reason))))
            finish(.closedLocally(reason))
        case .reopen:
            leaveSocket(ending.reason)
            commands.append(.tell(.event(.didClose(ending.reason))))
            retryLater(after: nil, at: now)
        }
    }

    /// Ends for good; those who wait for the connection to open are told `error`.
    mutating func finish(_ reason: CloseReason, telling error: TransportError = closedError) {
        leaveSocket(reason)
        enter(.closed(reason))
        settleWaiters(error)
        commands.append(.tell(.event(.didClose(reason))))
        commands.append(.tell(.ended(reason)))
    }

    private mutating func leaveSocket(_ reason: CloseReason) {
        isReadable = false
        watchesRoom = false
        commands.append(.closeSocket(loss(for: reason)))
        changeTerms { terms in
            let (revision, connection) = (terms.revision, terms.connection)
            terms = ReceiverTerms()
            (terms.revision, terms.connection) = (revision, connection)
        }
    }

    /// What the sender of a frame that did not get out is told.
    private func loss(for reason: CloseReason) -> TransportError {
        reason.error
            ?? TransportError(.connectionLost, path: settings.name, "\(reason) before the message was out")
    }
}
