internal import FrameWire

/// What is done until the next event.
extension ReceiverMachine {
    /// Reads and delivers until the socket is empty, something has to be waited for, or the turn is over.
    mutating func proceed(_ system: some System) {
        while !hasYielded {
            switch state {
            case .handshaking(let reader):
                guard mayRead, goesOn(system) else { return }
                readToken(reader, system)
            case .lingering:
                guard mayRead, leavesUnreadUntil == nil, goesOn(system) else { return }
                discard(system)
            case .receiving, .draining:
                guard room != 0, !awaitsMemory else { return }
                guard mayRead || assembler.pendingBody != nil || assembler.hasMore else { return rest(system) }
                guard goesOn(system) else { return }
                if room == nil, assembler.keepsFrames, !hasHungUp {
                    reserveRoom(onceEmpty: false, system)
                } else if let pendingBody = assembler.pendingBody {
                    admit(pendingBody, system)
                } else {
                    takeMessage(system)
                }
            case .closed:
                return
            }
        }
    }

    /// Whether the turn goes on; if not, other connections have theirs.
    private mutating func goesOn(_ system: some System) -> Bool {
        guard turn.isOver else { return true }
        hasYielded = true
        system.yield()
        return false
    }

    /// Handles the next message, or reads more of it.
    private mutating func takeMessage(_ system: some System) {
        let event: FrameAssembler.Event
        do throws(TransportError) {
            event = try assembler.next(at: now)
            try checkDescriptors(at: event)
        } catch {
            return fail(error, system)
        }
        switch consume event {
        case .message(let message, let body):
            turn.messagesLeft -= 1
            handle(message, body, system)
        case .body:
            break
        case .incomplete:
            if mayRead { read(system) }
        }
    }

    /// Handles a complete message, whose body is nil if there is none, or if it was not wanted.
    private mutating func handle(
        _ message: FrameAssembler.Message,
        _ body: FrameBytes?,
        _ system: some System
    ) {
        if !senderReadsRequests { senderReadsRequests = message.isOfThisProject }
        switch message {
        case .frame(let header):
            guard let body else { return }
            burstByteCount += body.count
            useRoom()
            system.deliver(assembler.takeFrame(header, body, at: now), more: mayRead || assembler.hasMore)
        case .audio(let header):
            if let body { system.deliver(AudioBlock(header, samples: body)) }
        case .sharedBuffer(let header):
            announced(header, system)
        case .sharedFrame(let header):
            deliver(header, system)
        case .status(let status):
            if case .stopped(let reason) = status.state { stopReason = reason }
            system.deliver(status)
        case .info(let info):
            system.deliver(info)
        case .unknown:
            break
        }
    }

    // MARK: Room and memory

    private mutating func reserveRoom(onceEmpty: Bool, _ system: some System) {
        let (room, waitingByteCount) = system.reserveRoom(onceEmpty: onceEmpty)
        burstByteCount = waitingByteCount
        self.room = max(0, room)
        // The consumer causes the wait.
        if room <= 0 { suspendDeadline() }
    }

    /// Uses a place of the reservation; another is requested once all are used.
    mutating func useRoom() {
        if let room { self.room = room > 1 ? room - 1 : nil }
    }

    /// Admits the body whose header has arrived, once its memory is available.
    private mutating func admit(_ byteCount: Int, _ system: some System) {
        // What a departed sender has left is already in the socket, bounded by the socket's buffer.
        if hasHungUp {
            admitPendingBody(system)
        } else if byteCount > configuration.usualBody {
            askForMemory(byteCount, system)
        } else if assembler.isAtFrame, burstByteCount > 0, byteCount > configuration.usualBody - burstByteCount {
            // Frames read ahead have the room of one usual body, which this would exceed.
            reserveRoom(onceEmpty: true, system)
        } else {
            admitPendingBody(system)
        }
    }

    private mutating func askForMemory(_ byteCount: Int, _ system: some System) {
        guard byteCount <= configuration.largestBody else {
            let message =
                "a body of \(byteCount) bytes is more than the memory budget allows for any "
                + "(\(configuration.largestBody))"
            return fail(TransportError(.noMemory, message), system)
        }
        // This side causes the wait.
        suspendDeadline()
        awaitsMemory = true
        guard mayAskForMemory, system.askForMemory(byteCount: byteCount) else { return }
        awaitsMemory = false
        // By the time that the body is there, the consumer may have more room, or less.
        if room != nil { room = 1 }
        admitPendingBody(system)
    }

    /// Whether a large body may ask for memory, which others may be waiting for.
    ///
    /// Nobody knows when the program will take a connection, and a complete body counts until it is taken. A drain does not
    /// last long.
    private var mayAskForMemory: Bool {
        if case .draining = state { true } else { isTaken }
    }

    private mutating func admitPendingBody(_ system: some System) {
        do throws(TransportError) {
            try assembler.admitBody()
        } catch {
            fail(error, system)
        }
    }

    /// Waits for the socket's next report.
    private mutating func rest(_ system: some System) {
        // A reservation holds for one run of frames: by the next run the consumer may have more room, or less.
        room = nil
        updateDeadline(system)
    }
}

extension FrameAssembler.Message {
    /// Whether it states something that existing senders of Jitsi do not.
    fileprivate var isOfThisProject: Bool {
        switch self {
        case .frame(let header): header.info.timestamp != nil || header.info.sequence != nil
        case .audio, .status, .info, .sharedBuffer, .sharedFrame: true
        case .unknown: false
        }
    }
}
