internal import FrameSocket
internal import FrameTransport
internal import FrameWire

/// The shell of a sender: carries out what its machines decide, over simulated sockets.
extension World {
    // Each of these happens on the connection's thread.

    func open(_ sender: SimSender) {
        execute(for: sender) { [self] in
            sender.isWanted = true
            change(sender) { $0.open(sender) }
        }
    }

    func close(_ sender: SimSender, _ reason: ControlRequest.FinishReason) {
        sender.hasClosed = true
        execute(for: sender) { [self] in
            schedule(after: 1_300_000_000) { [self] in
                let hasEnded = sender.closeReason != nil
                check(.lingerIsBounded, hasEnded, "sender \(sender.index) lingers for too long")
            }
            change(sender) { $0.close(reason, sender) }
        }
    }

    // MARK: Events

    /// Sets the deadline of a sender, which needs a registration of its own for it until the sender has ended.
    private func setDeadline(_ deadline: UInt64?, of sender: SimSender) {
        if sender.timer < 0 {
            guard deadline != nil else { return }
            sender.timer = register(sender, socket: -1)
        }
        setDeadline(deadline, of: sender.timer, on: sender.thread)
    }

    /// Reports something to a sender's machine, and sets what it then waits for.
    func change(_ sender: SimSender, _ report: (inout SenderMachine) -> Void) {
        sender.calls = 0
        report(&sender.machine)
        if sender.socket >= 0 { watchRoom(sender.socket, sender.machine.watchesRoom) }
        setDeadline(sender.machine.deadline, of: sender)
        checkWanted(sender)
    }

    func connect(_ sender: SimSender) -> SenderMachine.Attempt {
        let plan = sender.plan
        let isPaced = sender.connectedAt.map { now - $0 + 1_000_000 >= plan.retryInterval } ?? true
        check(.retriesArePaced, isPaced || !sender.waiters.isEmpty, "sender \(sender.index) tries again too early")
        checkGrowingPause(sender)
        sender.connectedAt = now
        guard let socket = makeSocket(at: plan.place, isOurs: true, capacity: plan.socketCapacity) else {
            return .failed(.noDescriptors)
        }
        switch connect(socket, to: plan.place) {
        case nil, .inProgress?:
            sender.socket = socket
            sender.registration = register(sender, socket: socket)
            return if case .connected = sockets[socket].phase { .connected } else { .pending }
        case let failure?:
            close(socket)
            return .failed(failure)
        }
    }

    /// After a connection that came to nothing, the pause is twice as long as after the one before, up to five seconds.
    private func checkGrowingPause(_ sender: SimSender) {
        guard sender.fruitless > 0, sender.waiters.isEmpty else { return }
        let pause = sender.plan.retryInterval << UInt64(min(sender.fruitless - 1, 16))
        let passed = now - sender.disconnectedAt + 1_000_000
        check(.pausesGrow, passed >= min(pause, 5_000_000_000), "sender \(sender.index) comes back too soon")
        if sender.fruitless > 2 { coverage.count(.growingPause) }
    }

    func closeSocket(_ sender: SimSender, _ error: TransportError) {
        if error.code == .sendTimedOut { coverage.count(.sendTimeout) }
        if sender.socket >= 0 {
            checkMessageUnderWay(sender)
            let silence = now - sockets[sender.socket].takenAt
            // What was taken in the same instant is reported only after the deadline.
            let isStill = silence >= 9_900_000_000 || silence < 100_000
            check(.slowIsNotBroken, error.code != .sendTimedOut || isStill, "a receiver that reads is given up")
            checkLeft(sender)
        }
        sender.hadSent = sender.lane.hasSent && !sender.isToldOfDiscards
        let settlement = sender.lane.close(error)
        if sender.registration >= 0 { cancel(sender.registration, on: sender.thread) }
        sender.registration = -1
        if sender.socket >= 0 { close(sender.socket) }
        sender.socket = -1
        if let settlement {
            overtake(sender)
            settled(settlement, of: sender)
        }
    }

    // MARK: The lane

    func openLane(_ sender: SimSender, connection: Int) {
        sender.lane.open(connection: connection, fittingByteCount: sender.plan.socketCapacity / 4)
    }

    func changeLane(
        _ sender: SimSender,
        _ change: (inout SendLaneMachine) -> SendLaneMachine.Settlement?
    ) -> SendLaneMachine.Progress {
        let (wasAccepting, hadDeclined) = (sender.lane.isAccepting, sender.lane.receiver.declinesSharedMemory)
        let settlement = change(&sender.lane)
        if wasAccepting, !sender.lane.isAccepting, let monitor = sender.monitor {
            monitor.mustTell = monitor.hasReadHello
        }
        if let settlement {
            if sender.lane.receiver.declinesSharedMemory, !hadDeclined { coverage.count(.sharedFrameWithdrawn) }
            overtake(sender)
            settled(settlement, of: sender)
        }
        for settlement in pump(sender) { settled(settlement, of: sender) }
        return sender.lane.progress
    }

    /// Writes what the lane has, as far as the socket takes it, and returns what became of frames.
    private func pump(_ sender: SimSender) -> [SendLaneMachine.Settlement] {
        var settlements: [SendLaneMachine.Settlement] = []
        while let write = sender.lane.nextWrite() {
            if let bytes = write.sendBuffer { setCapacity(sender.socket, bytes) }
            do {
                let transfer = try unsafe send(
                    sender.socket,
                    UnsafeRawBufferPointer(write.runs.header),
                    UnsafeRawBufferPointer(write.runs.body),
                    UnsafeRawBufferPointer(write.runs.padding),
                    passing: write.passed.map { [$0] } ?? []
                )
                if case .bytes(let count, _) = transfer {
                    if let settlement = sender.lane.didWrite(count) { settlements.append(settlement) }
                } else {
                    coverage.count(.sendBlocked)
                    sender.lane.wouldBlock()
                }
            } catch {
                if let settlement = sender.lane.writeFailed(error) { settlements.append(settlement) }
            }
        }
        return settlements
    }

    /// Submits a frame from the program's own thread, which writes what it can.
    func submit(_ message: FrameMessage, for connection: Int? = nil, of sender: SimSender) {
        sender.ticket += 1
        let ticket = sender.ticket
        sender.submitted.insert(ticket)
        sender.submittedAt = sender.decidedAt ?? now
        // What waits for a buffer from now on is another frame.
        (sender.submitsShared, sender.bufferWaitSince) = (message.shared != nil, nil)
        let isOwn = message.shared.map { $0.owner == UInt64(sender.index) + 1 } ?? true
        check(.integrity, isOwn, "uploader \(sender.index) sends an image in the buffer of another")
        do {
            try sender.lane.submit(message, for: connection, ticket: ticket)
            pumpFromProgram(sender)
            // A frame in shared memory waits for the socket: by chance its receiver's program declines just then.
            if message.shared != nil, sender.lane.queueCount > 0, random.chance(20), let receiver = receiver(of: sender)
            {
                send(.decline, from: receiver)
            }
        } catch {
            sender.submitted.remove(ticket)
            note("  refused: \(error.code)")
            sender.failedAt = now
            handle(sender) { $0.sent(SampleUploader.DropCause(sending: error), at: now) }
        }
    }

    func submit(_ audio: AudioBlock, of sender: SimSender) throws(TransportError) {
        try sender.lane.submit(audio)
        // An answer, an info, a frame and the last status may wait as well.
        let count = sender.lane.queueCount
        check(.audioIsBounded, count <= 64 + 4, "\(count) messages wait, nearly all of them audio")
        if count >= 64 { coverage.count(.audioGaveWay) }
        pumpFromProgram(sender)
    }

    func pumpFromProgram(_ sender: SimSender) {
        for settlement in pump(sender) {
            // The connection's thread may tell the uploader of an end before this thread tells it that the frame is sent.
            if sender.plan.usesUploader, sender.racing.chance(25) {
                schedule(of: sender, after: sender.racing.time(in: 1_000...2_000_000)) { [self] in
                    settled(settlement, of: sender)
                }
            } else {
                settled(settlement, of: sender)
            }
        }
        if case .sent = sender.lane.progress { return }
        execute(for: sender) { [self] in
            let progress = sender.lane.progress
            change(sender) { $0.laneChanged(to: progress, sender) }
        }
    }
}
