internal import FrameWire

/// The socket and the clock.
extension ReceiverMachine {
    // MARK: Events

    /// Handles readiness: the socket is readable or writable, or the peer has hung up.
    package mutating func becameReady(_ readiness: Readiness, _ system: some System) {
        now = system.now
        if !hasYielded { turn = Turn(isCrowded: system.isCrowded) }
        if readiness.contains(.readable) { mayRead = true }
        if readiness.contains(.hangup) { hangUp(system) }
        if readiness.contains(.writable), isReady || owesNotice { writeRequests(system) }
        if owesNotice, outbox.bytes.isEmpty, case .lingering = state {
            owesNotice = false
            system.shutDownSending()
        }
        proceed(system)
    }

    /// Handles the passing of the deadline.
    package mutating func deadlinePassed(_ system: some System) {
        now = system.now
        deadline = nil
        switch state {
        case .handshaking:
            let message = "the sender did not send its token in time"
            finish(.failed(TransportError(.handshakeTimedOut, message)), system)
        case .receiving:
            // What has arrived and not been read, for which this side has not had the time, may end the phase.
            isOverdue = true
        case .draining:
            // Only what has arrived by now is delivered.
            system.shutDownReceiving()
            mayRead = true
            hangUp(system)
        case .lingering(let reason):
            guard let end = leavesUnreadUntil else { return finish(reason, system) }
            leavesUnreadUntil = nil
            deadline = end
        case .closed:
            break
        }
        proceed(system)
    }

    // MARK: Reading

    /// Reads a part of the sender's token, and answers it once it is complete.
    mutating func readToken(_ reader: TokenReader, _ system: some System) {
        let run = unsafe assembler.scratch(reader.remaining)
        let count: Int
        do throws(Errno) {
            count = try result(of: unsafe system.readToken(into: run), system)
        } catch {
            return readFailed(error, system)
        }
        // None may come with a token, before anything can be announced.
        if system.takeArrivals() != nil { return finish(.failed(SharedBuffers.unannounced), system) }
        guard count > 0 else { return }
        var reader = reader
        unsafe reader.take(Span(_unsafeBytes: UnsafeRawBufferPointer(rebasing: run[..<count])))
        state = .handshaking(reader)
        guard reader.remaining == 0 else { return }
        guard reader.isRight else {
            // A sender that uses no token would mistake what follows for an orderly end, after frames that were not
            // delivered.
            if reader.hasMessage {
                outbox.add(.hello(ControlRequest.Hello()))
                outbox.add(.stop(.tokenRejected))
                writeRequests(system)
            }
            // Not closed at once: unread bytes would turn the end that the sender sees into a reset.
            let error = TransportError(.tokenRejected, "the sender's token is not the expected one")
            return linger(.failed(error), leavesUnread: false, system)
        }
        guard system.keepPlace() else { return losePlace(system) }
        do throws(Errno) {
            // A new connection always has room for it.
            let own = configuration.ownToken
            guard case .bytes(own.count, _) = try system.write(own) else { throw .again }
        } catch {
            return finish(.failed(.lost(error)), system)
        }
        now = system.now
        state = .receiving
        becomeReady(system)
    }

    mutating func discard(_ system: some System) {
        do throws(Errno) {
            _ = try result(of: system.discard(), system)
        } catch {
            readFailed(error, system)
        }
    }

    /// Reads into the current body, and behind it.
    mutating func read(_ system: some System) {
        let (first, second): (MemoryRun, MemoryRun)
        do throws(TransportError) {
            unsafe (first, second) = try assembler.targets(limit: max(1, turn.bytesLeft))
        } catch {
            return fail(error, system)
        }
        do throws(Errno) {
            let transfer = try unsafe system.read(into: first, second)
            let count = result(of: transfer, system)
            guard case .bytes(_, let isShort) = transfer, count > 0 else { return }
            if let (count, areLost) = system.takeArrivals() { shared.arrived(count, areLost: areLost) }
            turn.bytesLeft -= assembler.isSkipping ? count * Turn.weightOfSkippedBytes : count
            // A short read has emptied the socket, and the next bytes are reported separately; but an end that was
            // reported together with these bytes is not reported again.
            mayRead = !isShort || hasHungUp
            assembler.didRead(count, into: first.count)
        } catch {
            readFailed(error, system)
        }
    }

    /// Handles what every read may find; returns the number of bytes, 0 if there are none now or ever again.
    private mutating func result(of transfer: Transfer, _ system: some System) -> Int {
        now = system.now
        switch transfer {
        case .bytes(0, _):
            endOfStream(system)
            return 0
        case .bytes(let count, _):
            turn.readsLeft -= 1
            return count
        case .wouldBlock:
            mayRead = false
            return 0
        }
    }

    private mutating func endOfStream(_ system: some System) {
        mayRead = false
        switch state {
        case .handshaking:
            let message = "the other side closed the connection instead of sending its token"
            finish(.failed(TransportError(.tokenRejected, message)), system)
        case .lingering(let reason):
            finish(reason, system)
        case .receiving, .draining:
            // A write has taken the system's only report of a reset, which over TCP may have cost whole messages.
            if let resetError, stopReason == nil { return fail(.lost(resetError), system) }
            do throws(TransportError) {
                try assembler.finish()
                end(system)
            } catch {
                fail(error, system)
            }
        case .closed:
            break
        }
    }

    /// Handles a failed read, or that the socket cannot be watched.
    package mutating func readFailed(_ error: Errno, _ system: some System) {
        mayRead = false
        switch state {
        case .handshaking:
            finish(.failed(.lost(error)), system)
        case .lingering(let reason):
            finish(reason, system)
        case .receiving, .draining:
            // A peer that closes without having read this side's requests resets the connection: the end is orderly
            // nevertheless, if nothing that it sent is lost. Nothing follows what says that it stopped.
            let losesNothing = stopReason != nil || (configuration.resetKeepsData && outbox.hasWritten)
            let isOrderly = error == .reset && losesNothing
            if isOrderly, assembler.phase == .betweenMessages { return end(system) }
            fail(.lost(error), system)
        case .closed:
            break
        }
    }

    // MARK: Writing

    /// Writes as many of the requests as the socket takes.
    mutating func writeRequests(_ system: some System) {
        guard !outbox.bytes.isEmpty else { return }
        do throws(Errno) {
            if case .bytes(let count, _) = try system.write(outbox.bytes) { outbox.didWrite(count) }
        } catch {
            // The reads encounter the failure too, but may find no more than an end.
            if error == .reset, !configuration.resetKeepsData { resetError = error }
        }
        // What had no room in the outbox may have it now; the next report of room writes it.
        if isReady { _ = shared.queueRequests(in: &outbox) }
    }
}
