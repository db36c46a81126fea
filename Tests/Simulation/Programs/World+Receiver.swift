internal import FrameTransport
internal import FrameWire

/// The shell of a received connection: carries out what its machine decides.
extension World {
    func run(_ task: SimThread.Task, of receiver: SimReceiver) {
        switch task {
        case .begin: begin(receiver)
        case .giveWay:
            change(receiver) { $0.giveWay(at: now) }
            let hasGone = receiver.closeReason != nil || receiver.wasClosed || receiver.drainedAt != nil
            check(.placesAreBounded, hasGone, "a connection is still there that was to make way")
        case .send(let request):
            let queued = receiver.machine.outbox.bytes.count
            receiver.machine.send(request, at: now)
            if receiver.machine.outbox.bytes.count > queued { note(request, of: receiver) }
            run(receiver)
        case .close(let reason):
            receiver.wasClosed = true
            change(receiver) { $0.close(reason, at: now) }
        case .drain: drain(receiver)
        case .resume: change(receiver) { $0.resume(at: now) }
        case .takenByProgram:
            let request = receiver.requestNumber
            change(receiver) { $0.taken(at: now) }
            if receiver.requestNumber != request { coverage.count(.largeBodyWaitedForProgram) }
        case .roomAvailable: change(receiver) { $0.roomAvailable(at: now) }
        case .granted: granted(receiver)
        case .undecodable: change(receiver) { $0.undecodableLimitReached() }
        case .consume: consumeOnThread(receiver)
        case .bufferReleased(let index): change(receiver) { $0.bufferReleased(index) }
        case .sharedMemoryRevoked: change(receiver) { $0.sharedMemoryRevoked() }
        default: break
        }
    }

    /// A request was queued for the sender.
    private func note(_ request: ControlRequest, of receiver: SimReceiver) {
        let wasSilent = receiver.maySenderBeSilent
        switch request {
        case .hello(let hello): receiver.stated = hello.wants
        case .pause: receiver.hasPaused = true
        case .resume: receiver.hasPaused = false
        default: break
        }
        if wasSilent, !receiver.maySenderBeSilent { receiver.heardAt = now }
    }

    /// Starts reading, on the connection's thread.
    func begin(_ receiver: SimReceiver) {
        receiver.registration = register(.receiver(receiver.index), socket: receiver.socket, on: receiver.thread)
        change(receiver) { $0.start(at: now) }
        tell(.started(receiver.id), of: receiver)
    }

    func drain(_ receiver: SimReceiver) {
        if receiver.drainedAt == nil { receiver.drainedAt = now }
        change(receiver) { $0.drain(at: now) }
    }

    func change(_ receiver: SimReceiver, _ report: (inout ReceiverMachine) -> Void) {
        report(&receiver.machine)
        run(receiver)
    }

    func run(_ receiver: SimReceiver) {
        var count = 0
        while let command = receiver.machine.nextCommand() {
            note("  receiver \(receiver.index): \(Self.summary(of: command))")
            check(.toldOnce, receiver.closeReason == nil, "a connection that has closed goes on")
            perform(command, of: receiver)
            overtake(receiver)
            count += 1
            check(.progress, count < 20_000, "a receiver's machine never stops giving commands")
            guard violation == nil else { return }
        }
        wakeConsumers(of: receiver)
    }

    private func perform(_ command: ReceiverMachine.Command, of receiver: SimReceiver) {
        let thread = receiver.thread
        switch command {
        case .read: read(receiver)
        case .deliver(let frame, let more):
            deliver(SimFrame(frame: frame), weight: frame.jpeg.count, more: more, to: receiver)
        case .deliverAudio(let message): deliver(message, to: receiver)
        case .deliverStatus(let status): deliver(status, to: receiver)
        case .countDroppedAudio: break
        case .deliverShared, .mapBuffer, .dropDescriptor, .unmapBuffers: perform(shared: command, of: receiver)
        case .reserveRoom(let onceEmpty):
            let (room, waiting) = receiver.mailbox.reserve(onceEmpty: onceEmpty)
            receiver.machine.reserved(room, behind: waiting)
        case .askForMemory(let byteCount, let request): ask(receiver, for: byteCount, request: request)
        case .withdrawRequestForMemory: withdrawRequest(of: receiver)
        case .setDeadline(let deadline): setDeadline(deadline, of: receiver.registration, on: thread)
        case .watchRoom(let watches): watchRoom(receiver.socket, watches)
        case .writeRequests: writeRequests(receiver)
        case .readToken(let count):
            readScratch(receiver, count, isToken: true) { machine, bytes in
                machine.didReadToken(bytes, at: self.now)
            }
        case .keepPlace:
            if receiver.place == .revocable { receiver.place = .kept } else { coverage.count(.placeWasRevoked) }
            receiver.machine.didKeepPlace(receiver.place == .kept, at: now)
        case .writeToken: writeToken(receiver)
        case .present: present(receiver)
        case .shutDownSending:
            shutdownSending(receiver.socket)
        case .shutDownReceiving:
            coverage.count(.drainCutOff)
            let limit = (receiver.drainedAt ?? now) + 1_000_000_000
            check(.drainLasts, now >= limit, "connection \(receiver.index) is cut off before its time")
            shutdownReceiving(receiver.socket)
        case .discard: readScratch(receiver, 16 << 10) { machine, _ in machine.didDiscard() }
        case .yield:
            coverage.count(.turnYielded)
            executeAfterPoll(.resume, for: .receiver(receiver.index), on: thread)
        case .endDelivery:
            coverage.count(.lingered)
            schedule(.lingerIsOver, .receiver(receiver.index), after: 1_300_000_000)
            endDelivery(receiver, nil)
        case .close(let reason): finish(receiver, reason)
        }
    }

    private func read(_ receiver: SimReceiver) {
        do throws(TransportError) {
            let runs = try unsafe receiver.machine.readTargets()
            switch unsafe receive(receiver.socket, into: runs.0, runs.1) {
            case .bytes(0, _): receiver.machine.endOfStream()
            case .bytes(let count, let isShort):
                takeArrivals(receiver)
                receiver.heardAt = now
                unsafe receiver.machine.didRead(count, into: runs.0.count, isShort: isShort, at: now)
            case .wouldBlock: receiver.machine.wouldBlock(at: now)
            case .failed(let failure): receiver.machine.readFailed(failure.errno)
            }
        } catch {
            receiver.machine.readFailed(error)
        }
    }

    private func readScratch(
        _ receiver: SimReceiver,
        _ capacity: Int,
        isToken: Bool = false,
        _ take: (inout ReceiverMachine, Span<UInt8>) -> Void
    ) {
        let transfer = unsafe receive(
            receiver.socket,
            into: scratch(capacity),
            UnsafeMutableRawBufferPointer(start: nil, count: 0)
        )
        switch transfer {
        case .bytes(0, _): receiver.machine.endOfStream()
        case .bytes(let count, _):
            if isToken { takeArrivals(receiver) }
            unsafe take(&receiver.machine, Span(_unsafeBytes: UnsafeRawBufferPointer(scratch(count))))
        case .wouldBlock: receiver.machine.wouldBlock(at: now)
        case .failed(let failure): receiver.machine.readFailed(failure.errno)
        }
    }

    private func writeToken(_ receiver: SimReceiver) {
        coverage.count(.handshake)
        guard let tokens = servers[receiver.server].tokens else { return }
        let transfer = unsafe tokens.own.withUnsafeBytes { unsafe send(receiver.socket, $0) }
        if case .bytes(tokens.own.count, _) = transfer {
            receiver.machine.didWriteToken(nil, at: now)
        } else {
            receiver.machine.didWriteToken(.lost(.brokenPipe), at: now)
        }
    }

    private func writeRequests(_ receiver: SimReceiver) {
        let bytes = receiver.machine.outbox.bytes
        check(.requestsAreBounded, bytes.count <= 4096, "\(bytes.count) bytes of requests wait")
        let endsWithRequest = bytes.suffix(4).elementsEqual([13, 10, 13, 10].suffix(bytes.count))
        check(.requestsAreWhole, endsWithRequest, "the requests of connection \(receiver.index) end within one")
        let transfer = unsafe bytes.withUnsafeBytes { unsafe send(receiver.socket, $0) }
        switch transfer {
        case .bytes(let count, _): receiver.machine.didWriteRequests(count)
        case .wouldBlock: receiver.machine.didWriteRequests(0)
        case .failed(let failure): receiver.machine.requestsFailed(failure.errno)
        }
    }

    // MARK: Memory

    private func ask(_ receiver: SimReceiver, for bytes: Int, request: Int) {
        let mayAsk = receiver.isTaken || receiver.drainedAt != nil
        check(.untakenAskForNothing, mayAsk, "connection \(receiver.index) asks for memory, and nobody has taken it")
        let (answer, effects) = budgets[receiver.budget].machine.ask(bytes)
        (receiver.requestNumber, receiver.requestedBytes) = (request, bytes)
        switch answer {
        case .granted:
            take(bytes, for: receiver)
            if receiver.machine.memoryGranted(for: request, at: now) {
                receiver.bodyGrant = bytes
            } else {
                giveBack(bytes, budget: receiver.budget)
            }
        case .waiting(let id):
            coverage.count(.grantWaited)
            receiver.request = id
            budgets[receiver.budget].requests[id] = receiver.index
        }
        follow(effects, budget: receiver.budget)
        checkBudget(receiver.budget)
    }

    private func take(_ bytes: Int, for receiver: SimReceiver) {
        budgets[receiver.budget].granted += bytes
        let limit = budgets[receiver.budget].machine.largestGrant
        check(.budgetHolds, budgets[receiver.budget].granted <= limit, "more is granted than the budget has")
    }

    /// The budget has granted a request that waited; the receiver hears of it on its thread.
    private func granted(_ receiver: SimReceiver) {
        let (request, bytes) = receiver.grantsUnderWay.removeFirst()
        guard receiver.machine.memoryGranted(for: request, at: now) else {
            giveBack(bytes, budget: receiver.budget)
            return run(receiver)
        }
        receiver.request = nil
        let asked = receiver.requestedBytes
        check(.budgetHolds, bytes == asked, "a body that asked for \(asked) bytes is given \(bytes)")
        receiver.bodyGrant = bytes
        run(receiver)
    }

    private func withdrawRequest(of receiver: SimReceiver) {
        guard let id = receiver.request else { return }
        receiver.request = nil
        budgets[receiver.budget].requests[id] = nil
        follow(budgets[receiver.budget].machine.withdraw(id), budget: receiver.budget)
    }

    func giveBack(_ bytes: Int, budget: Int) {
        guard bytes > 0 else { return }
        budgets[budget].granted -= bytes
        follow(budgets[budget].machine.giveBack(bytes), budget: budget)
        checkBudget(budget)
    }

    func follow(_ effects: BudgetMachine.Effects, budget: Int) {
        for id in effects.evicted {
            guard let index = budgets[budget].departed.removeValue(forKey: id) else { continue }
            coverage.count(.eviction)
            let receiver = receivers[index]
            receiver.departed = nil
            dropUnread(receiver)
        }
        for id in effects.revoked {
            guard let index = budgets[budget].mapped.removeValue(forKey: id) else { continue }
            coverage.count(.sharedMemoryRevoked)
            execute(.sharedMemoryRevoked, for: .receiver(index), on: receivers[index].thread)
        }
        for id in effects.granted {
            guard let index = budgets[budget].requests.removeValue(forKey: id) else { continue }
            let receiver = receivers[index]
            take(receiver.requestedBytes, for: receiver)
            receiver.grantsUnderWay.append((receiver.requestNumber, receiver.requestedBytes))
            execute(.granted, for: .receiver(index), on: receiver.thread)
        }
    }

    // MARK: Ending

    private func endDelivery(_ receiver: SimReceiver, _ error: TransportError?) {
        receiver.deliveryHasEnded = true
        if let bytes = receiver.bodyGrant {
            receiver.bodyGrant = nil
            giveBack(bytes, budget: receiver.budget)
        }
        for waiter in receiver.mailbox.end(error) where waiter == receiver.frames.waiter { wakeFrames(receiver) }
        for waiter in receiver.audio.end(nil) where waiter == receiver.audioConsumer.waiter { wakeAudio(receiver) }
        for waiter in receiver.statuses.end(nil) where waiter == receiver.statusConsumer.waiter { wakeStatus(receiver) }
    }

    private func finish(_ receiver: SimReceiver, _ reason: CloseReason) {
        check(.toldOnce, receiver.closeReason == nil, "a connection ends twice")
        checkEnd(of: receiver, reason)
        receiver.closeReason = reason
        cancel(receiver.registration, on: receiver.thread)
        close(receiver.socket)
        closeMappings(receiver)
        budgets[receiver.budget].machine.leave(receiver.allowance)
        keepUnread(receiver)
        endDelivery(receiver, reason.error)
        if receiver.frames.hasEnded { endFanOut(receiver, reason) }
        tell(.ended(receiver.id, wasReady: receiver.isPresented), of: receiver)
    }

    /// Gives back the grants of what nobody has consumed, and keeps it as long as its memory is not needed.
    private func keepUnread(_ receiver: SimReceiver) {
        for bytes in receiver.takeGrants() { giveBack(bytes, budget: receiver.budget) }
        let weight = receiver.mailbox.weight + receiver.audio.weight
        guard weight > 0, !receiver.isLetGo else { return }
        let (id, effects) = budgets[receiver.budget].machine.depart(weight)
        if let id {
            receiver.departed = id
            budgets[receiver.budget].departed[id] = receiver.index
        } else {
            dropUnread(receiver)
        }
        follow(effects, budget: receiver.budget)
        checkBudget(receiver.budget)
    }

    private func dropUnread(_ receiver: SimReceiver) {
        note("  receiver \(receiver.index): what was left unread is dropped")
        receiver.wasDropped = true
        tell(.framesDropped(receiver.id), of: receiver)
        let error = TransportError(.departedSenderDropped, "dropped")
        for waiter in receiver.mailbox.discard(error).woken where waiter == receiver.frames.waiter {
            wakeFrames(receiver)
        }
        for waiter in receiver.audio.discard(nil).woken where waiter == receiver.audioConsumer.waiter {
            wakeAudio(receiver)
        }
    }

    /// What was left is consumed, or nobody can consume it.
    func forgetUnread(_ receiver: SimReceiver) {
        guard let id = receiver.departed else { return }
        receiver.departed = nil
        budgets[receiver.budget].departed[id] = nil
        follow(budgets[receiver.budget].machine.forget(id), budget: receiver.budget)
    }

    /// The program lets go of the connection.
    func letGo(_ receiver: SimReceiver) {
        guard !receiver.isLetGo else { return }
        receiver.isLetGo = true
        for bytes in receiver.takeGrants() { giveBack(bytes, budget: receiver.budget) }
        for waiter in receiver.mailbox.discard(nil).woken where waiter == receiver.frames.waiter {
            wakeFrames(receiver)
        }
        for waiter in receiver.audio.discard(nil).woken where waiter == receiver.audioConsumer.waiter {
            wakeAudio(receiver)
        }
        forgetUnread(receiver)
        execute(.close(nil), for: .receiver(receiver.index), on: receiver.thread)
    }

    private static func summary(of command: ReceiverMachine.Command) -> String {
        switch command {
        case .deliver(let frame, _): "deliver frame \(frame.index)"
        case .deliverShared(let frame, let header, _): "deliver frame \(frame.index) in buffer \(header.buffer)"
        case .deliverAudio: "deliver audio"
        default: "\(command)"
        }
    }
}
