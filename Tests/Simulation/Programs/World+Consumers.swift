internal import FrameTransport
internal import FrameWire

/// The tasks that consume a connection, and the program's calls on it.
extension World {
    func perform(_ action: Plan.Action, receiver: SimReceiver) {
        let owner = Owner.receiver(receiver.index)
        switch action {
        case .request(let requests):
            for request in requests { send(request, from: receiver) }
        case .closeConnection(let reason):
            receiver.isClosed = true
            execute(.close(reason), for: owner, on: receiver.thread)
        case .drainConnection:
            coverage.count(.drain)
            receiver.isDraining = true
            execute(.drain, for: owner, on: receiver.thread)
        case .letGo: letGo(receiver)
        case .releaseImages: receiver.kept.removeAll()
        case .cancelConsumer: cancelConsumer(receiver)
        default: break
        }
    }

    private func send(_ request: ControlRequest, from receiver: SimReceiver) {
        if case .hello(let hello) = request {
            if !hello.wants.contains(.frames) { receiver.hasSkippedFrames = true }
            receiver.asked.formUnion(hello.wants)
        }
        execute(.send(request), for: .receiver(receiver.index), on: receiver.thread)
    }

    func startConsumers(_ receiver: SimReceiver) {
        consumeFrames(receiver)
        consumeAudio(receiver)
        consumeStatuses(receiver)
    }

    func step(_ timer: ProgramTimer, of receiver: SimReceiver) {
        switch timer {
        case .consumer:
            receiver.isBusy = false
            receiver.inHand = nil
            frameConsumerGoesOn(receiver)
        case .audioConsumer: consumeAudio(receiver)
        case .statusConsumer: consumeStatuses(receiver)
        case .departureIsDue, .lingerIsOver: checkEnd(of: receiver, timer)
        case .releaseKept: releaseKept(receiver)
        default: break
        }
    }

    // MARK: Frames

    /// The machine delivers a frame.
    func deliver(_ frame: SimFrame, weight: Int, more: Bool, to receiver: SimReceiver) {
        var frame = frame
        frame.counted = receiver.countedBody
        receiver.countedBody = 0
        receiver.delivered += 1
        let before = receiver.frames.mailbox.replaced
        let (isAccepted, woken) = receiver.frames.mailbox.put(frame, weight: weight, more: more)
        for replaced in receiver.frames.mailbox.takeGivenWay() { release(replaced, of: receiver) }
        if !isAccepted { release(frame, of: receiver) }
        receiver.hasHeldBack = receiver.hasHeldBack || more
        if receiver.frames.mailbox.replaced != before || !isAccepted {
            coverage.count(.supersededFrame)
        }
        if let woken, woken == receiver.frames.waiter { wakeFrames(receiver) }
        // What had arrived when the sender went, or was cut off, is read to its end.
        if !servers[receiver.server].plan.deliversNewest, !sockets[receiver.socket].peerHasEnded,
            !sockets[receiver.socket].hasShutReceiving, !sockets[receiver.socket].wasBroken
        {
            let ahead = receiver.frames.mailbox.count - receiver.frames.mailbox.waiterCount
            check(.readAheadIsBounded, ahead <= 8, "\(ahead) frames are read ahead")
            let uncounted = receiver.frames.mailbox.weight - receiver.counted
            // Shared memory is counted by the budget itself.
            let isWithinShare =
                receiver.frames.mailbox.waiterCount > 0 || uncounted <= receiver.part.usualBody
                || receiver.acceptsSharedMemory
            check(.budgetHolds, isWithinShare, "\(uncounted) bytes are read ahead, of \(receiver.part.usualBody)")
        }
    }

    /// Wakes the consumer once for all that a run has brought.
    func wakeConsumers(of receiver: SimReceiver) {
        guard receiver.hasHeldBack else { return }
        receiver.hasHeldBack = false
        while let woken = receiver.frames.mailbox.wakeWaiter() {
            if woken == receiver.frames.waiter { wakeFrames(receiver) }
        }
    }

    func wakeFrames(_ receiver: SimReceiver) {
        guard !receiver.frames.hasBeenWoken else { return }
        receiver.frames.hasBeenWoken = true
        if receiver.consumesOnThread {
            execute(.consume, for: .receiver(receiver.index), on: receiver.thread)
        } else {
            schedule(.consumer, .receiver(receiver.index), after: random.time(in: 1_000...40_000))
        }
    }

    /// The pace has changed: a consumer that was silent may go on.
    func wakeConsumer(_ receiver: SimReceiver) {
        guard receiver.isTaken, !receiver.isBusy else { return }
        consumeFrames(receiver)
    }

    private func frameConsumerGoesOn(_ receiver: SimReceiver) {
        if receiver.frames.hasBeenWoken { takeFrame(receiver) } else { consumeFrames(receiver) }
    }

    /// The consumer takes the next frame, or waits for it.
    private func takeFrame(_ receiver: SimReceiver) {
        let wasCancelled = receiver.wasCancelled
        receiver.wasCancelled = false
        switch receiver.frames.take() {
        case .element(let taken): consumed(taken, by: receiver)
        case .end(let error): framesEnded(receiver, error)
        case .nothing where wasCancelled:
            // A cancelled consumer gets the end; another one goes on where it stopped.
            receiver.isBusy = true
            schedule(.consumer, .receiver(receiver.index), after: 50_000)
        case .nothing: if receiver.frames.wait() { wakeFrames(receiver) }
        }
    }

    /// The consumer asks for the next frame.
    private func consumeFrames(_ receiver: SimReceiver) {
        let server = servers[receiver.server]
        guard receiver.isTaken, !receiver.isBusy, receiver.frames.waiter == nil, !receiver.isLetGo,
            !receiver.frames.hasEnded
        else { return }
        if case .silent = server.pace { return }
        if receiver.consumesOnThread { return execute(.consume, for: .receiver(receiver.index), on: receiver.thread) }
        takeFrame(receiver)
    }

    /// A consumer that runs on the connection's thread goes on.
    func consumeOnThread(_ receiver: SimReceiver) {
        if receiver.frames.hasBeenWoken { return frameConsumerGoesOn(receiver) }
        guard !receiver.isBusy, receiver.frames.waiter == nil, !receiver.frames.hasEnded, !receiver.isLetGo
        else {
            return
        }
        if case .silent = servers[receiver.server].pace { return }
        takeFrame(receiver)
    }

    private func consumed(_ taken: MailboxMachine<SimFrame, UInt64>.Taken, by receiver: SimReceiver) {
        if taken.mustCallProducer { execute(.roomAvailable, for: .receiver(receiver.index), on: receiver.thread) }
        consumed(taken.element, by: receiver)
    }

    private func consumed(_ frame: SimFrame, by receiver: SimReceiver) {
        release(frame, of: receiver)
        if receiver.closeReason != nil, receiver.frames.mailbox.count == 0, receiver.audio.mailbox.count == 0 {
            forgetUnread(receiver)
        }
        received(frame, by: receiver)
        receiver.isBusy = true
        let delay: UInt64 = if case .slow(let time) = servers[receiver.server].pace { time } else { 2_000 }
        receiver.inHand = frame
        schedule(.consumer, .receiver(receiver.index), after: delay)
    }

    private func framesEnded(_ receiver: SimReceiver, _ error: TransportError?) {
        guard receiver.deliveryHasEnded || receiver.isLetGo else {
            return violate(.reasons, "the frames of connection \(receiver.index) end, which goes on")
        }
        receiver.frames.hasEnded = true
        receiver.framesError = error
        endOfFrames(receiver, error)
    }

    /// The task that consumes frames is cancelled, and another one takes its place.
    private func cancelConsumer(_ receiver: SimReceiver) {
        guard let waiter = receiver.frames.waiter, !receiver.frames.hasBeenWoken else { return }
        coverage.count(.cancelled)
        receiver.wasCancelled = true
        let woken = receiver.frames.mailbox.wakeAll()
        check(.promptness, woken.contains(waiter), "a cancelled consumer is not woken")
        wakeFrames(receiver)
    }

    // MARK: Audio and statuses

    func deliver(_ message: AudioBlock, to receiver: SimReceiver) {
        check(.audioOnlyIfAsked, receiver.asked.contains(.audio), "audio is kept that nobody asked for")
        check(
            .audioOnlyIfAsked,
            message.bytes.count <= receiver.part.audio,
            "audio of \(message.bytes.count) bytes is kept"
        )
        let (_, woken) = receiver.audio.mailbox.put(message, weight: message.bytes.count)
        let count = receiver.audio.mailbox.count
        check(.audioIsBounded, count <= 64, "\(count) audio messages wait")
        wakeAudio(receiver, woken)
    }

    func deliver(_ status: SenderStatus, to receiver: SimReceiver) {
        let (_, woken) = receiver.statuses.mailbox.put(status)
        let count = receiver.statuses.mailbox.count
        check(.latestSixteen, count <= 16, "\(count) statuses wait")
        wakeStatus(receiver, woken)
    }

    func wakeAudio(_ receiver: SimReceiver, _ woken: UInt64?) {
        wake(&receiver.audio, woken, .audioConsumer, .receiver(receiver.index))
    }

    func wakeStatus(_ receiver: SimReceiver, _ woken: UInt64?) {
        wake(&receiver.statuses, woken, .statusConsumer, .receiver(receiver.index))
    }

    private func consumeAudio(_ receiver: SimReceiver) {
        guard receiver.isTaken, !receiver.audio.hasEnded else { return }
        let end = receiver.audio.takeAll { received($0, by: receiver) }
        if receiver.closeReason != nil, receiver.frames.mailbox.count == 0 { forgetUnread(receiver) }
        if end == nil, receiver.audio.wait() { wakeAudio(receiver, receiver.audio.waiter) }
    }

    private func consumeStatuses(_ receiver: SimReceiver) {
        guard receiver.isTaken, !receiver.statuses.hasEnded, receiver.statuses.takeAll({ _ in }) == nil else { return }
        if receiver.statuses.wait() { wakeStatus(receiver, receiver.statuses.waiter) }
    }
}
