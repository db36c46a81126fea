internal import FrameTransport
internal import FrameWire

/// The shell of a received connection: reports events to its machine, and what they lead to.
extension World {
    // Each of these happens on the connection's thread, never within an event of that connection.

    func send(_ request: ControlRequest, from receiver: SimReceiver) {
        execute(for: receiver) { [self] in
            change(receiver) { if $0.send(request, receiver) { note(request, of: receiver) } }
        }
    }

    func close(_ receiver: SimReceiver, _ reason: ControlRequest.FinishReason?) {
        execute(for: receiver) { [self] in
            receiver.wasClosed = true
            if let reason, receiver.machine.isReady, receiver.drainedAt == nil {
                receiver.owedStop = (ControlRequest.stop(reason).encoded(), now + 1_000_000_000)
            }
            change(receiver) { $0.close(reason, receiver) }
        }
    }

    func drain(_ receiver: SimReceiver) {
        execute(for: receiver) { [self] in
            if receiver.drainedAt == nil { receiver.drainedAt = now }
            change(receiver) { $0.drain(receiver) }
        }
    }

    // MARK: Events

    func giveWay(_ receiver: SimReceiver) {
        change(receiver) { $0.giveWay(receiver) }
        let hasGone = receiver.closeReason != nil || receiver.wasClosed || receiver.drainedAt != nil
        check(.placesAreBounded, hasGone, "a connection is still there that was to make way")
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
        receiver.registration = register(receiver, socket: receiver.socket)
        change(receiver) { $0.start(receiver) }
        tell(of: receiver) { [self] server in change(server) { $0.started(receiver.id, server) } }
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

    func ask(_ receiver: SimReceiver, for bytes: Int) -> Bool {
        receiver.asks += 1
        let mayAsk = receiver.isTaken || receiver.drainedAt != nil
        check(.untakenAskForNothing, mayAsk, "connection \(receiver.index) asks for memory, and nobody has taken it")
        let isAdmitted = budgets[receiver.budget].machine.admit(bytes, for: receiver.account)
        if let waiting = receiver.waiting {
            check(.budgetHolds, bytes == waiting.bytes, "\(waiting.bytes) bytes have asked, and \(bytes) are admitted")
            check(.budgetHolds, isAdmitted == waiting.isAdmitted, "a body is read that was not admitted")
            if isAdmitted { receiver.waiting = nil }
        } else if isAdmitted {
            check(.bodiesInOrder, budgets[receiver.budget].line.isEmpty, "a body overtakes those that wait")
            admit(bytes, for: receiver)
        } else {
            coverage.count(.bodyWaited)
            receiver.waiting = (bytes, false)
            budgets[receiver.budget].line.append(receiver.index)
        }
        if isAdmitted { receiver.countedBody = bytes }
        follow(receiver.budget)
        return isAdmitted
    }

    private func admit(_ bytes: Int, for receiver: SimReceiver) {
        receiver.counted += bytes
        budgets[receiver.budget].admitted += bytes
        let isWithin = budgets[receiver.budget].admitted <= budgets[receiver.budget].machine.largestBody
        check(.budgetHolds, isWithin, "more is admitted than the budget has")
    }

    func withdrawRequest(of receiver: SimReceiver) {
        guard let waiting = receiver.waiting.take() else { return }
        budgets[receiver.budget].line.removeAll { $0 == receiver.index }
        if waiting.isAdmitted { forget(waiting.bytes, of: receiver) }
        budgets[receiver.budget].machine.withdraw(receiver.account)
        follow(receiver.budget)
    }

    private func forget(_ bytes: Int, of receiver: SimReceiver) {
        receiver.counted -= bytes
        budgets[receiver.budget].admitted -= bytes
    }

    /// A frame is taken, or dropped: what the budget counted for it is free.
    func release(_ frame: SimFrame, of receiver: SimReceiver) {
        if receiver.counted > 0 { forget(frame.counted, of: receiver) }
        release(frame.counted, of: receiver)
    }

    private func release(_ bytes: Int, of receiver: SimReceiver) {
        guard bytes > 0 else { return }
        budgets[receiver.budget].machine.release(bytes, of: receiver.account)
        follow(receiver.budget)
    }

    /// Tells the connections what the budget has to tell them.
    private func follow(_ budget: Int) {
        for notice in budgets[budget].machine.takeNotices() {
            switch notice {
            case .admitted(let index):
                let receiver = receivers[index]
                guard let waiting = receiver.waiting, !waiting.isAdmitted else {
                    violate(.budgetHolds, "a body is admitted that has not asked")
                    continue
                }
                receiver.waiting = (waiting.bytes, true)
                check(.bodiesInOrder, budgets[budget].line.first == index, "a body overtakes those that wait")
                budgets[budget].line.removeAll { $0 == index }
                admit(waiting.bytes, for: receiver)
                execute(for: receiver) { [self] in change(receiver) { $0.memoryAvailable(receiver) } }
            case .dropped(let index):
                coverage.count(.eviction)
                receivers[index].isKept = false
                dropUnread(receivers[index])
            }
        }
        checkBudget(budget)
    }

    // MARK: Ending

    func endDelivery(_ receiver: SimReceiver, _ error: TransportError?) {
        receiver.deliveryHasEnded = true
        releaseCountedBody(of: receiver)
        for waiter in receiver.frames.mailbox.end(error) { wakeFrames(receiver, waiter) }
        for waiter in receiver.audio.mailbox.end(nil) { wakeAudio(receiver, waiter) }
        for waiter in receiver.statuses.mailbox.end(nil) { wakeStatus(receiver, waiter) }
    }

    func finish(_ receiver: SimReceiver, _ reason: CloseReason) {
        check(.toldOnce, receiver.closeReason == nil, "a connection ends twice")
        checkEnd(of: receiver, reason)
        receiver.closeReason = reason
        cancel(receiver.registration, on: receiver.thread)
        close(receiver.socket)
        closeMappings(receiver)
        endDelivery(receiver, reason.error)
        keepUnread(receiver)
        tell(of: receiver) { [self] server in
            server.connections[receiver.id] = nil
            change(server) { $0.ended(receiver.id, wasReady: receiver.isPresented, server) }
        }
    }

    /// A body that does not come to its end needs no memory.
    private func releaseCountedBody(of receiver: SimReceiver) {
        let bytes = receiver.countedBody
        receiver.countedBody = 0
        forget(bytes, of: receiver)
        release(bytes, of: receiver)
    }

    /// Keeps what nobody has consumed as long as its memory is not needed.
    private func keepUnread(_ receiver: SimReceiver) {
        forget(receiver.counted, of: receiver)
        let weight = receiver.frames.mailbox.weight + receiver.audio.mailbox.weight
        receiver.isKept = weight > 0
        budgets[receiver.budget].machine.depart(receiver.account, leaving: weight)
        follow(receiver.budget)
    }

    private func dropUnread(_ receiver: SimReceiver) {
        note("  receiver \(receiver.index): what was left unread is dropped")
        let error = TransportError(.departedSenderDropped, "dropped")
        for waiter in receiver.frames.mailbox.discard(error).woken { wakeFrames(receiver, waiter) }
        for waiter in receiver.audio.mailbox.discard(nil).woken { wakeAudio(receiver, waiter) }
    }

    /// What was left is consumed, or nobody can consume it.
    func forgetUnread(_ receiver: SimReceiver) {
        guard receiver.isKept else { return }
        receiver.isKept = false
        budgets[receiver.budget].machine.forget(receiver.account)
        follow(receiver.budget)
    }

    /// The program lets go of the connection.
    func letGo(_ receiver: SimReceiver) {
        guard !receiver.isLetGo else { return }
        receiver.isLetGo = true
        let (frames, woken) = receiver.frames.mailbox.discard(nil)
        receiver.hasDiscarded = !frames.isEmpty
        for frame in frames { release(frame, of: receiver) }
        for waiter in woken { wakeFrames(receiver, waiter) }
        for waiter in receiver.audio.mailbox.discard(nil).woken { wakeAudio(receiver, waiter) }
        forgetUnread(receiver)
        close(receiver, nil)
    }
}
