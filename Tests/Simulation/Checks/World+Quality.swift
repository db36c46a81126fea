internal import FrameSocket
internal import FrameTransport
internal import FrameWire

/// Images whose quality follows what is possible.
extension World {
    func isAdapted(_ sender: SimSender) -> Bool {
        sender.uploader?.machine.configuration.adaptation != nil
    }

    /// Whether an uploader has no room for its next frame.
    func isHeldBack(_ sender: SimSender) -> Bool {
        sender.uploader?.machine.holdEnd(at: now) != nil
    }

    /// Notes until when an uploader has no room.
    func noteHold(_ sender: SimSender) {
        guard let end = sender.uploader?.machine.holdEnd(at: now) else { return }
        sender.heldBackUntil = max(sender.heldBackUntil, end)
        coverage.count(.heldBack)
    }

    /// An uploader stays within its maximum of bytes a second.
    func checkByteRate(_ message: FrameMessage, _ sender: SimSender) {
        let rate = sender.uploader?.machine.configuration.adaptation?.maximumByteRate
        if rate != sender.byteRate { (sender.byteRate, sender.bytesSent) = (rate, []) }
        guard let rate, message.shared == nil else { return }
        // Clocks are read a little before the lock is acquired.
        sender.bytesSent.removeAll { $0.at + 1_999_900_000 <= now }
        sender.bytesSent.append((now, message.jpeg.count))
        let sum = sender.bytesSent.reduce(0) { $0 + $1.count }
        let isWithin = sum <= rate * 21 / 10 || sender.bytesSent.count == 1
        check(
            .byteRateHolds,
            isWithin,
            "uploader \(sender.index) sends \(sum) bytes in two seconds, at \(rate) a second"
        )
    }

    /// Whether a receiver has the latest image at less than the highest quality although its pixels are there.
    func isBlurred(_ sender: SimSender, _ monitor: SenderMonitor) -> Bool {
        let latest = UInt32(sender.offers.count)
        guard latest > 0, sender.runs.allSatisfy({ $0.count == 0 }), monitor.frames.last == latest,
            isImageKept(sender, latest), let header = monitor.header, header.contentLength > 0,
            let machine = sender.uploader?.machine, !machine.sharing.isOpen
        else { return false }
        return monitor.lastQuality < machine.configuration.quality
    }
}
