internal import FrameTransport
internal import FrameWire

/// The shell of a sender: carries out what its machines decide, over simulated sockets.
extension World {
    func addSender(_ plan: SenderPlan, _ all: Plan) -> Int {
        let tokens = all.places[plan.place].usesTokens ? HandshakeTokens(shared: Tokens.bytes) : nil
        let isPort = all.places[plan.place].isPort
        let racing = Random(seed: seed, part: 100_000 + senders.count)
        let damaging = Random(seed: seed, part: 300_000 + senders.count)
        let sender = SimSender(
            plan,
            index: senders.count,
            isPort: isPort,
            tokens: tokens,
            racing: racing,
            damaging: damaging
        )
        senders.append(sender)
        return sender.index
    }

    /// Sets the deadline of a sender, which needs a registration of its own for it until the sender has ended.
    private func setDeadline(_ deadline: UInt64?, of sender: SimSender) {
        let thread = sender.plan.thread
        if sender.timer < 0 {
            guard deadline != nil else { return }
            sender.timer = register(.sender(sender.index), socket: -1, on: thread)
        }
        setDeadline(deadline, of: sender.timer, on: thread)
    }

    /// Reports something to a sender's machine, and carries out what follows.
    func change(_ sender: SimSender, _ report: (inout SenderMachine) -> Void) {
        report(&sender.machine)
        run(sender)
    }

    private func run(_ sender: SimSender) {
        var count = 0
        while let command = sender.machine.nextCommand() {
            note("  sender \(sender.index): \(command)")
            overtake(sender)
            perform(command, of: sender)
            count += 1
            check(.progress, count < 10_000, "a sender's machine never stops giving commands")
            guard violation == nil else { return }
        }
    }

    private func perform(_ command: SenderMachine.Command, of sender: SimSender) {
        switch command {
        case .connect: connect(sender)
        case .checkConnected:
            if let failure = connectFailure(sender.socket) {
                sender.machine.connectFailed(failure.errno, at: now)
            } else {
                sender.machine.connected(at: now)
            }
        case .checkPeer:
            if isConnectedToItself(sender.socket) {
                sender.machine.peerIsThisSide(at: now)
            } else {
                monitor(sender.socket, sender: sender.index, tokenCount: sender.tokens?.own.count ?? 0)
                sender.machine.peerAdmitted(at: now)
            }
        case .writeToken(let offset): writeToken(sender, from: offset)
        case .read(let limit): read(sender, limit)
        case .shutdownSending:
            checkEndIsTold(sender)
            shutdownSending(sender.socket)
        case .watchRoom(let watches): if sender.socket >= 0 { watchRoom(sender.socket, watches) }
        case .setDeadline(let deadline): setDeadline(deadline, of: sender)
        case .closeSocket(let error): closeSocket(sender, error)
        case .lane(let order): perform(order, of: sender)
        case .settle(let waiter, let error): settle(waiter, error, of: sender)
        case .tell(let news): tell(news, of: sender)
        case .continueLater: executeAfterPoll(.continueTurn, for: .sender(sender.index), on: sender.plan.thread)
        }
    }

    private func connect(_ sender: SimSender) {
        let plan = sender.plan
        let isPaced = sender.connectedAt.map { now - $0 + 1_000_000 >= plan.retryInterval } ?? true
        check(.retriesArePaced, isPaced || !sender.waiters.isEmpty, "sender \(sender.index) tries again too early")
        sender.connectedAt = now
        guard let socket = makeSocket(at: plan.place, isOurs: true, capacity: plan.socketCapacity) else {
            return sender.machine.connectFailed(SocketFailure.noDescriptors.errno, at: now)
        }
        switch connect(socket, to: plan.place) {
        case nil, .inProgress?:
            sender.socket = socket
            sender.registration = register(.sender(sender.index), socket: socket, on: plan.thread)
            if case .connected = sockets[socket].phase { sender.machine.connected(at: now) }
        case let failure?:
            close(socket)
            sender.machine.connectFailed(failure.errno, at: now)
        }
    }

    private func writeToken(_ sender: SimSender, from offset: Int) {
        guard let tokens = sender.tokens else { return }
        let transfer = unsafe tokens.own.withUnsafeBytes { bytes in
            unsafe send(sender.socket, UnsafeRawBufferPointer(rebasing: bytes[offset...]))
        }
        switch transfer {
        case .bytes(let count, _): sender.machine.didWriteToken(count, at: now)
        case .wouldBlock: sender.machine.didWriteToken(0, at: now)
        case .failed(let failure): sender.machine.tokenWriteFailed(failure.errno, at: now)
        }
    }

    private func read(_ sender: SimSender, _ limit: Int) {
        let transfer = unsafe receive(
            sender.socket,
            into: scratch(limit),
            UnsafeMutableRawBufferPointer(start: nil, count: 0)
        )
        switch transfer {
        case .bytes(0, _):
            sender.sawEndAt = eventCount
            sender.machine.reachedEndOfStream(at: now)
        case .bytes(let count, _):
            let bytes = unsafe UnsafeRawBufferPointer(scratch(count))
            unsafe sender.machine.didRead(Span(_unsafeBytes: bytes), at: now)
        case .wouldBlock: sender.machine.readWouldBlock(at: now)
        case .failed(let failure): sender.machine.readFailed(failure.errno, at: now)
        }
    }

    private func closeSocket(_ sender: SimSender, _ error: TransportError) {
        if error.code == .sendTimedOut { coverage.count(.sendTimeout) }
        if sender.socket >= 0 {
            checkMessageUnderWay(sender)
            let silence = now - sockets[sender.socket].takenAt
            // What was taken in the same instant is reported only after the deadline.
            let isStill = silence >= 9_900_000_000 || silence < 100_000
            check(.slowIsNotBroken, error.code != .sendTimedOut || isStill, "a receiver that reads is given up")
            checkLeft(sender)
        }
        let settlement = sender.lane.close(error)
        if sender.registration >= 0 { cancel(sender.registration, on: sender.plan.thread) }
        sender.registration = -1
        if sender.socket >= 0 { close(sender.socket) }
        sender.socket = -1
        if let settlement {
            overtake(sender)
            settled(settlement, of: sender)
        }
    }

    // MARK: The lane

    private func perform(_ order: SenderMachine.LaneOrder, of sender: SimSender) {
        var settlement: SendLaneMachine.Settlement?
        switch order {
        case .open(let connection, let wants):
            (sender.audioAccepted, sender.audioBegun, sender.audioRefused) = (0, 0, 0)
            sender.audioDroppedBefore = sender.lane.droppedAudio
            let fitting = sender.plan.socketCapacity / 4
            sender.lane.open(connection: connection, wants: wants, fittingByteCount: fitting)
            return
        case .setWants(let wants, let info, let answer):
            settlement = sender.lane.setWants(wants, info: info, answering: answer)
        case .setPaused(let isPaused, let answer): settlement = sender.lane.setPaused(isPaused, answering: answer)
        case .declineShared:
            settlement = sender.lane.declineShared()
            if settlement != nil { coverage.count(.sharedFrameWithdrawn) }
        case .answer(let status): sender.lane.send(status)
        case .resume: sender.lane.hasRoom()
        case .end(let last, let error):
            if sockets[sender.socket].monitor >= 0 {
                let monitor = monitors[sockets[sender.socket].monitor]
                monitor.mustTell = monitor.hasReadHello
            }
            settlement = sender.lane.end(last: last, withdrawing: error)
        case .report: break
        }
        if let settlement {
            overtake(sender)
            settled(settlement, of: sender)
        }
        for settlement in pump(sender) { settled(settlement, of: sender) }
        sender.machine.laneProgressed(sender.lane.progress, at: now)
    }

    /// Writes what the lane has, as far as the socket takes it, and returns what became of frames.
    private func pump(_ sender: SimSender) -> [SendLaneMachine.Settlement] {
        var settlements: [SendLaneMachine.Settlement] = []
        while let write = sender.lane.nextWrite() {
            if let bytes = write.sendBuffer { setCapacity(sender.socket, bytes) }
            let transfer = unsafe send(
                sender.socket,
                UnsafeRawBufferPointer(write.runs.header),
                UnsafeRawBufferPointer(write.runs.body),
                UnsafeRawBufferPointer(write.runs.padding),
                passing: write.passed.map { [SimDescriptor(region: SharedRegion($0))] } ?? []
            )
            switch transfer {
            case .bytes(let count, _):
                if let settlement = sender.lane.didWrite(count) { settlements.append(settlement) }
            case .wouldBlock:
                coverage.count(.sendBlocked)
                sender.lane.wouldBlock()
            case .failed(let failure):
                if let settlement = sender.lane.writeFailed(failure.errno) { settlements.append(settlement) }
            }
        }
        return settlements
    }

    /// Submits a frame from the program's own thread, which writes what it can.
    func submit(
        _ message: FrameMessage,
        for connection: Int? = nil,
        ticket: Int,
        of sender: SimSender
    ) throws(TransportError) {
        sender.submittedAt = sender.decidedAt ?? now
        try sender.lane.submit(message, for: connection, ticket: ticket)
        pumpFromProgram(sender)
    }

    func submit(_ audio: AudioMessage, of sender: SimSender) throws(TransportError) {
        try sender.lane.submit(audio)
        sender.audioAccepted += 1
        pumpFromProgram(sender)
    }

    func pumpFromProgram(_ sender: SimSender) {
        for settlement in pump(sender) {
            // The connection's thread may tell the uploader of an end before this thread tells it that the frame is sent.
            if sender.plan.usesUploader, sender.racing.chance(25) {
                schedule(.settled(settlement), of: sender, after: sender.racing.time(in: 1_000...2_000_000))
            } else {
                settled(settlement, of: sender)
            }
        }
        if case .sent = sender.lane.progress { return }
        execute(.laneProgressed, for: .sender(sender.index), on: sender.plan.thread)
    }
}

extension SocketFailure {
    /// The number that the system gives it.
    var errno: Errno {
        switch self {
        case .reset: .reset
        case .brokenPipe: .brokenPipe
        case .refused: .refused
        case .noEntry: .noEntry
        case .again: .again
        case .inProgress: .inProgress
        case .aborted: .aborted
        case .noDescriptors: Errno(24)
        case .addressInUse: .addressInUse
        }
    }
}
