/// When each frame of a recording is shown, in nanoseconds since the first.
///
/// The time between two frames is the one that their sender states. If it states none, or an impossible one such as
/// a time before that of the previous frame, and from one sender to the next, it is the time between their arrivals.
struct RecordingClock {
    /// The maximum time between two frames that is believed: an hour.
    static let maximumStep: UInt64 = 3_600_000_000_000

    private var last: (time: UInt64, connection: Int, timestamp: UInt64?, receivedAt: UInt64)?

    /// The time of the next frame, which is later than that of the previous one.
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
