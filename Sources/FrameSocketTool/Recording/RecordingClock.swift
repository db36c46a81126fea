/// When each frame of a recording is shown, in nanoseconds since the first.
///
/// From one frame to the next goes as much time as their sender says. Where it says nothing, or what cannot be, such as
/// a time before that of the frame before, and from one sender to the next, it is the time between their arrivals.
struct RecordingClock {
    /// The most time that a sender may say went by between two frames: an hour.
    static let maximumStep: UInt64 = 3_600_000_000_000

    private var last: (time: UInt64, connection: Int, timestamp: UInt64?, receivedAt: UInt64)?

    /// The time of the next frame, which is later than that of the one before.
    mutating func time(timestamp: UInt64?, receivedAt: UInt64, connection: Int) -> UInt64 {
        let time = last.map { last in
            let arrived = receivedAt > last.receivedAt ? receivedAt - last.receivedAt : 0
            var step = arrived
            if last.connection == connection, let timestamp, let before = last.timestamp, timestamp >= before,
                timestamp - before <= Self.maximumStep
            {
                step = timestamp - before
            }
            return last.time.addingReportingOverflow(max(1, step)).partialValue
        }
        last = (time ?? 0, connection, timestamp, receivedAt)
        return time ?? 0
    }
}
