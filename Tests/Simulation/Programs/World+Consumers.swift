internal import FrameTransport
internal import FrameWire

/// The tasks that consume a connection, and the program's calls on it.
extension World {
    func perform(_ action: Plan.Action, receiver: SimReceiver) {
        switch action {
        case .request(let requests):
            for request in requests {
                if case .hello(let hello) = request {
                    if !hello.wants.contains(.frames) { receiver.hasSkippedFrames = true }
                    receiver.asked.formUnion(hello.wants)
                }
                send(request, from: receiver)
            }
        case .closeConnection(let reason):
            receiver.isClosed = true
            close(receiver, reason)
        case .drainConnection:
            coverage.count(.drain)
            receiver.isDraining = true
            drain(receiver)
        case .letGo: letGo(receiver)
        case .releaseImages: receiver.kept.removeAll()
        case .cancelConsumer: cancelConsumer(receiver)
        default: break
        }
    }

    func startConsumers(_ receiver: SimReceiver) {
        consumeFrames(receiver)
        consumeAudio(receiver)
        consumeStatuses(receiver)
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
        for frame in receiver.frames.mailbox.takeGivenWay() { release(frame, of: receiver) }
        receiver.hasHeldBack = receiver.hasHeldBack || more
        if receiver.frames.mailbox.replaced != before || !isAccepted {
            coverage.count(.supersededFrame)
        }
        wakeFrames(receiver, woken)
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
        while let woken = receiver.frames.mailbox.wakeWaiter() { wakeFrames(receiver, woken) }
    }

    func wakeFrames(_ receiver: SimReceiver, _ woken: UInt64?) {
        guard receiver.frames.mustWake(woken) else { return }
        if receiver.consumesOnThread { return execute(for: receiver) { [self] in goOn(receiver) } }
        schedule(of: receiver, after: random.time(in: 1_000...40_000)) { [self] in goOn(receiver) }
    }

    private func goOn(_ receiver: SimReceiver) {
        if receiver.frames.hasBeenWoken || mayConsume(receiver) { takeFrame(receiver) }
    }

    private func mayConsume(_ receiver: SimReceiver) -> Bool {
        if case .silent = servers[receiver.server].pace { return false }
        return receiver.isTaken && !receiver.isBusy && receiver.frames.waiter == nil && !receiver.isLetGo
            && !receiver.frames.hasEnded
    }

    /// The consumer asks for the next frame, on the connection's thread if it runs there.
    func consumeFrames(_ receiver: SimReceiver) {
        guard mayConsume(receiver) else { return }
        if receiver.consumesOnThread {
            execute(for: receiver) { [self] in goOn(receiver) }
        } else {
            takeFrame(receiver)
        }
    }

    /// The consumer is busy for a while.
    private func keepBusy(_ receiver: SimReceiver, _ delay: UInt64) {
        receiver.isBusy = true
        schedule(of: receiver, after: delay) { [self] in
            (receiver.isBusy, receiver.inHand) = (false, nil)
            consumeFrames(receiver)
        }
    }

    /// The consumer takes the next frame, or waits for it.
    private func takeFrame(_ receiver: SimReceiver) {
        let wasCancelled = receiver.wasCancelled
        receiver.wasCancelled = false
        switch receiver.frames.take() {
        case .element(let frame, let mustCall, _): consumed(frame, mustCallProducer: mustCall, by: receiver)
        case .end(let error): framesEnded(receiver, error)
        // A cancelled consumer gets the end; another one goes on where it stopped.
        case .nothing where wasCancelled: keepBusy(receiver, 50_000)
        case .nothing: if receiver.frames.wait() { wakeFrames(receiver, receiver.frames.waiter) }
        }
    }

    private func consumed(_ frame: SimFrame, mustCallProducer: Bool, by receiver: SimReceiver) {
        if mustCallProducer {
            execute(for: receiver) { [self] in change(receiver) { $0.roomAvailable(receiver) } }
        }
        release(frame, of: receiver)
        if receiver.closeReason != nil, receiver.frames.mailbox.count == 0, receiver.audio.mailbox.count == 0 {
            forgetUnread(receiver)
        }
        received(frame, by: receiver)
        receiver.inHand = frame
        keepBusy(receiver, servers[receiver.server].pace.delay)
    }

    private func framesEnded(_ receiver: SimReceiver, _ error: TransportError?) {
        guard receiver.deliveryHasEnded || receiver.isLetGo else {
            return violate(.reasons, "the frames of connection \(receiver.index) end, which goes on")
        }
        receiver.frames.hasEnded = true
        endOfFrames(receiver, error)
    }

    /// The task that consumes frames is cancelled, and another one takes its place.
    private func cancelConsumer(_ receiver: SimReceiver) {
        guard let waiter = receiver.frames.waiter, !receiver.frames.hasBeenWoken else { return }
        coverage.count(.cancelled)
        receiver.wasCancelled = true
        let woken = receiver.frames.mailbox.wakeAll()
        check(.promptness, woken.contains(waiter), "a cancelled consumer is not woken")
        wakeFrames(receiver, waiter)
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
        guard receiver.audio.mustWake(woken) else { return }
        schedule(of: receiver, after: random.time(in: 1_000...40_000)) { [self] in consumeAudio(receiver) }
    }

    func wakeStatus(_ receiver: SimReceiver, _ woken: UInt64?) {
        guard receiver.statuses.mustWake(woken) else { return }
        schedule(of: receiver, after: random.time(in: 1_000...40_000)) { [self] in consumeStatuses(receiver) }
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
