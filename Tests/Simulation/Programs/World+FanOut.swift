internal import FrameTransport

/// Readers that share the frames of one connection.
struct SimFanOut {
    var machine = FanOutMachine<SimFrame>()
    var receiver: Int
    /// The latest frame.
    var latest: SimFrame?
}

/// One of the readers.
struct SimReader {
    let fanOut: Int
    let number: UInt64
    var mailbox = MailboxMachine<SimFrame, UInt64>(capacity: .init(count: 1), overflow: .replacesOldest)
    var waiter: UInt64?
    var hasBeenWoken = false
    var last = -1
    var hasLeft = false
    var hasEnded = false
}

extension World {
    func joinFanOut(_ receiver: SimReceiver) {
        if receiver.fanOut < 0 {
            receiver.fanOut = fanOuts.count
            fanOuts.append(SimFanOut(receiver: receiver.index))
            if receiver.frames.hasEnded, let reason = receiver.closeReason { endFanOut(receiver, reason) }
        }
        coverage.count(.fanOutJoined)
        let (number, first, ending) = fanOuts[receiver.fanOut].machine.join()
        let latest = fanOuts[receiver.fanOut].latest
        check(
            .fanOutReaders,
            first?.index == latest?.index,
            "a reader that joins late begins with frame \(first?.index ?? -1), and not \(latest?.index ?? -1)"
        )
        var reader = SimReader(fanOut: receiver.fanOut, number: number)
        if let first { _ = reader.mailbox.put(first) }
        if let ending { _ = reader.mailbox.end(ending.error) }
        readers.append(reader)
        read(readers.count - 1)
    }

    func leaveFanOut(_ receiver: SimReceiver) {
        guard receiver.fanOut >= 0,
            let index = readers.firstIndex(where: { $0.fanOut == receiver.fanOut && !$0.hasLeft })
        else { return }
        coverage.count(.fanOutLeft)
        leave(index)
    }

    private func leave(_ index: Int) {
        readers[index].hasLeft = true
        fanOuts[readers[index].fanOut].machine.leave(readers[index].number)
        _ = readers[index].mailbox.discard(nil)
    }

    /// A frame has been consumed, and goes to the readers.
    func publish(_ frame: SimFrame, of receiver: SimReceiver) {
        guard receiver.fanOut >= 0 else { return }
        if fanOuts[receiver.fanOut].machine.ending == nil { fanOuts[receiver.fanOut].latest = frame }
        for number in fanOuts[receiver.fanOut].machine.publish(frame) {
            guard let index = readers.firstIndex(where: { $0.fanOut == receiver.fanOut && $0.number == number }) else {
                continue
            }
            check(.fanOutReaders, !readers[index].hasLeft, "a reader that has left is given a frame")
            let (_, woken) = readers[index].mailbox.put(frame)
            _ = readers[index].mailbox.takeGivenWay()
            if let woken, woken == readers[index].waiter { wakeReader(index) }
        }
    }

    /// The frames of a connection have ended, and its readers are told how.
    func endFanOut(_ receiver: SimReceiver, _ reason: CloseReason) {
        guard receiver.fanOut >= 0 else { return }
        // The frames of a departed sender that were dropped end with an error, its connection cleanly.
        let reason = receiver.framesError.map { .failed($0) } ?? reason
        for number in fanOuts[receiver.fanOut].machine.end(reason) {
            guard let index = readers.firstIndex(where: { $0.fanOut == receiver.fanOut && $0.number == number }) else {
                continue
            }
            for waiter in readers[index].mailbox.end(reason.error) where waiter == readers[index].waiter {
                wakeReader(index)
            }
        }
    }

    private func wakeReader(_ index: Int) {
        guard !readers[index].hasBeenWoken else { return }
        readers[index].hasBeenWoken = true
        let receiver = fanOuts[readers[index].fanOut].receiver
        schedule(.reader(index), .receiver(receiver), after: random.time(in: 1_000...30_000_000))
    }

    func readerGoesOn(_ index: Int) {
        guard let waiter = readers[index].waiter else { return }
        readers[index].waiter = nil
        readers[index].hasBeenWoken = false
        switch readers[index].mailbox.takeDelivery(for: waiter) {
        case .element(let taken): take(taken.element, index)
        case .end(let error): return readerEnded(index, error)
        }
        if !readers[index].hasLeft { read(index) }
    }

    private func readerEnded(_ index: Int, _ error: TransportError?) {
        readers[index].hasEnded = true
        let receiver = receivers[fanOuts[readers[index].fanOut].receiver]
        guard !readers[index].hasLeft, !receiver.isLetGo else { return }
        let expected = receiver.framesError
        check(.fanOutReaders, error == expected, "a reader is told \(error?.message ?? "nothing") of the end")
    }

    private func take(_ frame: SimFrame, _ index: Int) {
        check(.fanOutReaders, frame.index > readers[index].last, "a reader gets an older frame after a newer one")
        readers[index].last = frame.index
    }

    private func read(_ index: Int) {
        while let taken = readers[index].mailbox.take() { take(taken.element, index) }
        let waiter = readers[index].mailbox.makeWaiter()
        readers[index].waiter = waiter
        if readers[index].mailbox.wait(waiter, waiter) { wakeReader(index) }
    }

    /// The program lets go of its fan-outs and their readers.
    func releaseFanOuts() {
        for index in fanOuts.indices {
            fanOuts[index].latest = nil
            fanOuts[index].machine = FanOutMachine()
        }
        for index in readers.indices { _ = readers[index].mailbox.discard(nil) }
    }

    /// Every reader that kept up has the last frame, and knows the end.
    func checkReaders() {
        for reader in readers where !reader.hasLeft {
            let receiver = receivers[fanOuts[reader.fanOut].receiver]
            guard receiver.frames.hasEnded, receiver.closeReason != nil, !reader.hasBeenWoken else { continue }
            check(.fanOutReaders, reader.hasEnded, "a reader is not told that the frames have ended")
        }
    }
}
