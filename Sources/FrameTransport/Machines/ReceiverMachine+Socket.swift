internal import FrameWire

/// Events from the socket and the clock.
extension ReceiverMachine {
    /// Handles readiness: the socket is readable or writable, or the peer has hung up.
    package mutating func becameReady(_ readiness: Readiness, at now: UInt64) {
        self.now = now
        if !hasYielded { turn = Turn() }
        if readiness.contains(.readable) { mayRead = true }
        if readiness.contains(.hangup) { hangUp() }
        if readiness.contains(.writable), !outbox.bytes.isEmpty, isReady { commands.append(.writeRequests) }
    }

    /// Handles bytes read of the sender's token.
    package mutating func didReadToken(_ bytes: Span<UInt8>, at now: UInt64) {
        self.now = now
        guard case .handshaking(var reader) = state else { return }
        turn.readsLeft -= 1
        reader.take(bytes)
        state = .handshaking(reader)
        guard reader.remaining == 0 else { return }
        guard reader.isRight else {
            // A sender that uses no token would mistake what follows for an orderly end, after frames that were not
            // delivered.
            if reader.hasMessage {
                outbox.add(.hello(ControlRequest.Hello()))
                outbox.add(.stop(.tokenRejected))
                commands.append(.writeRequests)
            }
            // Not closed at once: unread bytes would turn the end that the sender sees into a reset.
            return linger(.failed(TransportError(.tokenRejected, "the sender's token is not the expected one")))
        }
        state = .showingToken
        commands.append(.keepPlace)
    }

    /// Handles the attempt to keep the place, which fails if the server has given it to another connection.
    package mutating func didKeepPlace(_ isKept: Bool, at now: UInt64) {
        self.now = now
        guard case .showingToken = state else { return }
        if isKept { commands.append(.writeToken) } else { losePlace() }
    }

    /// Handles the write of this side's token, or its failure.
    package mutating func didWriteToken(_ error: TransportError?, at now: UInt64) {
        self.now = now
        guard case .showingToken = state else { return }
        if let error { return finish(.failed(error)) }
        state = .receiving(.open(room: nil))
        becomeReady()
    }

    /// Handles a read of `count` bytes into the memory of ``readTargets()``, whose first run had room for `first`.
    package mutating func didRead(_ count: Int, into first: Int, isShort: Bool, at now: UInt64) {
        self.now = now
        turn.readsLeft -= 1
        turn.bytesLeft -= count
        // A short read has emptied the socket, and the next bytes are reported separately; but an end that was reported
        // together with these bytes is not reported again.
        mayRead = !isShort || hasHungUp
        assembler.didRead(count, into: first)
    }

    /// Handles a read of bytes to discard.
    package mutating func didDiscard() {
        turn.readsLeft -= 1
    }

    /// Handles a read that found nothing.
    package mutating func wouldBlock(at now: UInt64) {
        self.now = now
        mayRead = false
    }

    /// Handles the end of the peer's stream.
    package mutating func endOfStream() {
        mayRead = false
        switch state {
        case .handshaking:
            finish(
                .failed(
                    TransportError(.tokenRejected, "the other side closed the connection instead of sending its token")
                )
            )
        case .showingToken, .closed:
            break
        case .lingering(let reason):
            finish(reason)
        case .receiving, .draining:
            // A write has taken the system's only report of a reset, which over TCP may have cost whole messages.
            if let resetError { return fail(.lost(resetError)) }
            do throws(TransportError) {
                try assembler.finish()
                end()
            } catch {
                fail(error)
            }
        }
    }

    /// Handles a failed read.
    package mutating func readFailed(_ error: Errno) {
        mayRead = false
        switch state {
        case .closed:
            break
        case .lingering(let reason):
            finish(reason)
        case .receiving, .draining:
            // A peer that closes without having read this side's requests resets the connection: the end is orderly
            // nevertheless, if nothing that it sent is lost.
            let isOrderly = error == .reset && configuration.resetKeepsData && outbox.hasWritten
            if isOrderly, assembler.phase == .betweenMessages { return end() }
            fail(.lost(error))
        case .handshaking, .showingToken:
            finish(.failed(.lost(error)))
        }
    }

    /// Handles a lack of memory for a read.
    package mutating func readFailed(_ error: TransportError) {
        fail(error)
    }

    /// Handles a failure to write requests: the reads encounter it too, but may find no more than an end.
    package mutating func requestsFailed(_ error: Errno) {
        if error == .reset, !configuration.resetKeepsData { resetError = error }
        didWriteRequests(0)
    }

    /// Records how many bytes of the requests were written.
    package mutating func didWriteRequests(_ count: Int) {
        outbox.didWrite(count)
        // What had no room in the outbox may have it now; the next report of room writes it.
        if isReady { _ = shared.queueRequests(in: &outbox) }
        let mustWatch = !outbox.bytes.isEmpty && isReady
        guard mustWatch != watchesRoom, closeReason == nil else { return }
        watchesRoom = mustWatch
        commands.append(.watchRoom(mustWatch))
    }

    /// Handles the passing of the deadline.
    package mutating func deadlinePassed(at now: UInt64) {
        self.now = now
        switch state {
        case .handshaking, .showingToken:
            finish(
                .failed(TransportError(.handshakeTimedOut, "the sender did not send its token in time"))
            )
        case .receiving:
            // What has arrived and not been read, for which this side has not had the time, may end the phase.
            isOverdue = true
        case .draining:
            // Only what has arrived by now is delivered.
            commands.append(.shutDownReceiving)
            mayRead = true
            hangUp()
        case .lingering(let reason):
            finish(reason)
        case .closed:
            break
        }
    }
}
