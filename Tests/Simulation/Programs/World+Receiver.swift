internal import FrameTransport
internal import FrameWire

/// The shell of a received connection: reports events to its machine, and what they lead to.
extension World {
    func run(_ task: SimThread.Task, of receiver: SimReceiver) {
        switch task {
        case .begin: begin(receiver)
        case .giveWay:
            change(receiver) { $0.giveWay(receiver) }
            let hasGone = receiver.closeReason != nil || receiver.wasClosed || receiver.drainedAt != nil
            check(.placesAreBounded, hasGone, "a connection is still there that was to make way")
        case .send(let request):
            change(receiver) { if $0.send(request, receiver) { note(request, of: receiver) } }
        case .close(let reason):
            receiver.wasClosed = true
            change(receiver) { $0.close(reason, receiver) }
        case .drain: drain(receiver)
        case .resume: change(receiver) { $0.resume(receiver) }
        case .takenByProgram:
            let request = receiver.requestNumber
            change(receiver) { $0.taken(receiver) }
            if receiver.requestNumber != request { coverage.count(.largeBodyWaitedForProgram) }
        case .roomAvailable: change(receiver) { $0.roomAvailable(receiver) }
        case .granted: granted(receiver)
        case .undecodable: change(receiver) { $0.undecodableLimitReached(receiver) }
        case .consume: consumeOnThread(receiver)
        case .bufferReleased(let index): change(receiver) { $0.bufferReleased(index, receiver) }
        case .sharedMemoryRevoked: change(receiver) { $0.sharedMemoryRevoked(receiver) }
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
        change(receiver) { $0.start(receiver) }
        tell(.started(receiver.id), of: receiver)
    }

    func drain(_ receiver: SimReceiver) {
        if receiver.drainedAt == nil { receiver.drainedAt = now }
        change(receiver) { $0.drain(receiver) }
    }

    func change(_ receiver: SimReceiver, _ report: (inout ReceiverMachine) -> Void) {
        receiver.calls = 0
        report(&receiver.machine)
        if receiver.closeReason == nil {
            setDeadline(receiver.machine.deadline, of: receiver.registration, on: receiver.thread)
            watchRoom(receiver.socket, receiver.machine.watchesRoom)
        }
        wakeConsumers(of: receiver)
    }

    // MARK: Memory

    func ask(_ receiver: SimReceiver, for bytes: Int, request: Int) -> Bool {
        let mayAsk = receiver.isTaken || receiver.drainedAt != nil
        check(.untakenAskForNothing, mayAsk, "connection \(receiver.index) asks for memory, and nobody has taken it")
        let (answer, effects) = budgets[receiver.budget].machine.ask(bytes)
        (receiver.requestNumber, receiver.requestedBytes) = (request, bytes)
        defer {
            follow(effects, budget: receiver.budget)
            checkBudget(receiver.budget)
        }
        switch answer {
        case .granted:
            take(bytes, for: receiver)
            receiver.bodyGrant = bytes
            return true
        case .waiting(let id):
            coverage.count(.grantWaited)
            receiver.request = id
            budgets[receiver.budget].requests[id] = receiver.index
            return false
        }
    }

    private func take(_ bytes: Int, for receiver: SimReceiver) {
        budgets[receiver.budget].granted += bytes
        let limit = budgets[receiver.budget].machine.largestGrant
        check(.budgetHolds, budgets[receiver.budget].granted <= limit, "more is granted than the budget has")
    }

    /// The budget has granted a request that waited; the receiver hears of it on its thread.
    private func granted(_ receiver: SimReceiver) {
        let (request, bytes) = receiver.grantsUnderWay.removeFirst()
        guard receiver.machine.awaitsMemory(request) else { return giveBack(bytes, budget: receiver.budget) }
        let asked = receiver.requestedBytes
        check(.budgetHolds, bytes == asked, "a body that asked for \(asked) bytes is given \(bytes)")
        (receiver.request, receiver.bodyGrant) = (nil, bytes)
        change(receiver) { $0.memoryGranted(receiver) }
    }

    func withdrawRequest(of receiver: SimReceiver) {
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

    func endDelivery(_ receiver: SimReceiver, _ error: TransportError?) {
        receiver.deliveryHasEnded = true
        if let bytes = receiver.bodyGrant {
            receiver.bodyGrant = nil
            giveBack(bytes, budget: receiver.budget)
        }
        for waiter in receiver.mailbox.end(error) where waiter == receiver.frames.waiter { wakeFrames(receiver) }
        for waiter in receiver.audio.end(nil) where waiter == receiver.audioConsumer.waiter { wakeAudio(receiver) }
        for waiter in receiver.statuses.end(nil) where waiter == receiver.statusConsumer.waiter { wakeStatus(receiver) }
    }

    func finish(_ receiver: SimReceiver, _ reason: CloseReason) {
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
}
