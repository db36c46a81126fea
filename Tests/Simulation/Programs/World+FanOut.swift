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
    var frames = SimConsumer<SimFrame>(capacity: .init(count: 1), overflow: .replacesOldest)
    var last = -1
    var hasLeft = false
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
        if let first { _ = reader.frames.mailbox.put(first) }
        if let ending { _ = reader.frames.mailbox.end(ending.error) }
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
        _ = readers[index].frames.mailbox.discard(nil)
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
            let (_, woken) = readers[index].frames.mailbox.put(frame)
            _ = readers[index].frames.mailbox.takeGivenWay()
            wakeReader(index, woken)
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
            for waiter in readers[index].frames.mailbox.end(reason.error) { wakeReader(index, waiter) }
        }
    }

    private func wakeReader(_ index: Int, _ woken: UInt64?) {
        let receiver = fanOuts[readers[index].fanOut].receiver
        wake(&readers[index].frames, woken, .reader(index), .receiver(receiver), within: 1_000...30_000_000)
    }

    /// A reader takes what has come for it.
    func read(_ index: Int) {
        var last = readers[index].last
        let end = readers[index].frames.takeAll { frame in
            check(.fanOutReaders, frame.index > last, "a reader gets an older frame after a newer one")
            last = frame.index
        }
        readers[index].last = last
        if let error = end { return readerEnded(index, error) }
        if !readers[index].hasLeft, readers[index].frames.wait() { wakeReader(index, readers[index].frames.waiter) }
    }

    private func readerEnded(_ index: Int, _ error: TransportError?) {
        let receiver = receivers[fanOuts[readers[index].fanOut].receiver]
        guard !readers[index].hasLeft, !receiver.isLetGo else { return }
        let expected = receiver.framesError
        check(.fanOutReaders, error == expected, "a reader is told \(error?.message ?? "nothing") of the end")
    }

    /// The program lets go of its fan-outs and their readers.
    func releaseFanOuts() {
        for index in fanOuts.indices {
            fanOuts[index].latest = nil
            fanOuts[index].machine = FanOutMachine()
        }
        for index in readers.indices { _ = readers[index].frames.mailbox.discard(nil) }
    }

    /// Every reader that kept up has the last frame, and knows the end.
    func checkReaders() {
        for reader in readers where !reader.hasLeft {
            let receiver = receivers[fanOuts[reader.fanOut].receiver]
            guard receiver.frames.hasEnded, receiver.closeReason != nil, !reader.frames.hasBeenWoken else { continue }
            check(.fanOutReaders, reader.frames.hasEnded, "a reader is not told that the frames have ended")
        }
    }
}
