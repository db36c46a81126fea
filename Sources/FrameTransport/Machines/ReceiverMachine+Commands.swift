internal import FrameWire

/// What is to be done next.
extension ReceiverMachine {
    /// What to do next; nil when there is nothing until the next event.
    package mutating func nextCommand() -> Command? {
        if !commands.isEmpty { return commands.removeFirst() }
        guard !hasYielded else { return nil }
        switch state {
        case .handshaking(let reader):
            guard mayRead else { return nil }
            return turn.isOver ? yield() : .readToken(count: reader.remaining)
        case .lingering:
            guard mayRead else { return nil }
            return turn.isOver ? yield() : .discard
        case .receiving, .draining:
            return nextOfReceiving()
        case .showingToken, .closed:
            return nil
        }
    }

    mutating func nextOfReceiving() -> Command? {
        while case .open(let room)? = state.gate {
            guard mayRead || pendingBody != nil || assembler.hasMore else { return idle(room) }
            guard !turn.isOver else { return yield() }
            if room == nil, assembler.keepsFrames, !hasHungUp {
                return .reserveRoom(onceEmpty: false)
            }
            if pendingBody != nil {
                if let command = admission() { return command }
                continue
            }
            let event: FrameAssembler.Event
            do throws(TransportError) {
                event = try assembler.next(at: now)
            } catch {
                fail(error)
                break
            }
            switch event {
            case .frame(let frame):
                turn.messagesLeft -= 1
                burstByteCount += frame.jpeg.count
                // Asked again once what was reserved is used up.
                if let room { setGate(.open(room: room > 1 ? room - 1 : nil)) }
                return .deliver(frame, more: mayRead || assembler.hasMore)
            case .audio(let message):
                turn.messagesLeft -= 1
                return .deliverAudio(message)
            case .status(let status):
                turn.messagesLeft -= 1
                if case .stopped(let reason) = status.state { stopReason = reason }
                return .deliverStatus(status)
            case .skipped(let what):
                turn.messagesLeft -= 1
                if what == .audio, wants.contains(.audio) { return .countDroppedAudio }
            case .body(let byteCount):
                pendingBody = byteCount
            case .incomplete:
                if mayRead { return .read }
            }
        }
        return commands.isEmpty ? nil : commands.removeFirst()
    }

    /// Admits the body whose header has come, if its memory is there; else what is to be done for it.
    mutating func admission() -> Command? {
        guard let byteCount = pendingBody else { return nil }
        // What a departed sender has left lies in the socket already; it is bounded by the socket's own buffer.
        if hasHungUp {
            admitPendingBody()
        } else if byteCount > share {
            guard byteCount <= configuration.largestGrant else {
                fail(
                    TransportError(
                        .noMemory,
                        "a body of \(byteCount) bytes is more than the memory budget allows for any "
                            + "(\(configuration.largestGrant))"
                    )
                )
                return nil
            }
            setGate(.awaitingMemory)
            // The wait is this side's.
            suspendDeadline()
            return .askForMemory(byteCount: byteCount)
        } else if assembler.isAtFrame, burstByteCount > 0, burstByteCount + byteCount > share {
            // What is read ahead has a share of its own, and this would exceed it.
            setGate(.open(room: nil))
            return .reserveRoom(onceEmpty: true)
        } else {
            admitPendingBody()
        }
        return nil
    }

    mutating func admitPendingBody() {
        pendingBody = nil
        do throws(TransportError) {
            try assembler.admitBody()
        } catch {
            fail(error)
        }
    }

    /// Waits for the socket's next report.
    mutating func idle(_ room: Int?) -> Command? {
        // What is reserved holds for one run of frames: by the next one the consumer may have more room, or less.
        if room != nil { setGate(.open(room: nil)) }
        if let command = newDeadline() { return command }
        return commands.isEmpty ? nil : commands.removeFirst()
    }

    mutating func yield() -> Command {
        hasYielded = true
        return .yield
    }
}
