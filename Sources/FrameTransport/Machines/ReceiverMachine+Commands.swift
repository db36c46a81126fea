internal import FrameWire

/// The next command.
extension ReceiverMachine {
    /// Returns the next command; nil if there is none until the next event.
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
                try checkDescriptors(at: event)
            } catch {
                fail(error)
                break
            }
            switch event {
            case .frame(let frame):
                turn.messagesLeft -= 1
                burstByteCount += frame.jpeg?.count ?? 0
                useRoom(room)
                return .deliver(frame, more: mayRead || assembler.hasMore)
            case .audio(let message):
                turn.messagesLeft -= 1
                return .deliverAudio(message)
            case .sharedBuffer(let header):
                turn.messagesLeft -= 1
                if let command = announced(header) { return command }
            case .sharedFrame(let header):
                turn.messagesLeft -= 1
                if let command = delivery(of: header, room: room) { return command }
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

    /// Uses a place of the reservation; another is requested once all are used.
    mutating func useRoom(_ room: Int?) {
        if let room { setGate(.open(room: room > 1 ? room - 1 : nil)) }
    }

    /// Admits the body whose header has arrived, if its memory is available; otherwise returns the command to obtain
    /// it.
    mutating func admission() -> Command? {
        guard let byteCount = pendingBody else { return nil }
        // What a departed sender has left is already in the socket, bounded by the socket's buffer.
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
            guard mayAskForMemory else {
                setGate(.awaitingProgram)
                // This side causes the wait.
                suspendDeadline()
                return nil
            }
            lastRequest += 1
            setGate(.awaitingMemory(request: lastRequest))
            // This side causes the wait.
            suspendDeadline()
            return .askForMemory(byteCount: byteCount, request: lastRequest)
        } else if assembler.isAtFrame, burstByteCount > 0, burstByteCount + byteCount > share {
            // Frames read ahead have a share of their own, which this would exceed.
            setGate(.open(room: nil))
            return .reserveRoom(onceEmpty: true)
        } else {
            admitPendingBody()
        }
        return nil
    }

    /// Whether a large body may ask for a grant, which others may be waiting for.
    ///
    /// Nobody knows when the program will take a connection, and a complete body keeps its grant until it is consumed. A
    /// drain does not last long.
    private var mayAskForMemory: Bool {
        if case .draining = state { true } else { isTaken }
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
        // A reservation holds for one run of frames: by the next run the consumer may have more room, or less.
        if room != nil { setGate(.open(room: nil)) }
        if let command = newDeadline() { return command }
        return commands.isEmpty ? nil : commands.removeFirst()
    }

    mutating func yield() -> Command {
        hasYielded = true
        return .yield
    }
}
