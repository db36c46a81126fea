/// The times at which frames are due at a fixed rate: a grid that begins with a frame, and does not drift.
struct RateSchedule: Sendable {
    /// Nanoseconds between two frames; 0 if there is no limit.
    let interval: Double

    /// Where the grid begins; nil before the first frame.
    private var start: UInt64?
    /// The number of the grid's next time.
    private var next = 1.0

    init(framesPerSecond rate: Double) {
        // Eleven days between two frames are as good as never, and keep the sums below far from any overflow.
        interval = rate > 0 && rate.isFinite ? min(1e9 / rate, 1e15) : 0
    }

    /// Whether a frame is due, or nearer to its due time than the next one will be.
    func isDue(at timestamp: UInt64, sourceInterval: Double) -> Bool {
        guard let start, interval > 0, !isStanding(at: timestamp) else { return true }
        let early = min(sourceInterval, interval) / 2
        return Self.distance(from: start, to: timestamp) + early >= next * interval
    }

    /// Notes that a frame is sent.
    ///
    /// The grid stays where it is, unless the frame was not due, or so late that the next one would follow on its
    /// heels: what a pause has cost is not made up for. A source no faster than the rate may lag by a whole interval, for
    /// its frames cannot follow any closer, and each is wanted.
    mutating func advance(past timestamp: UInt64, sourceInterval: Double) {
        guard let start, interval > 0, !isStanding(at: timestamp) else { return restart(at: timestamp) }
        let lag = Self.distance(from: start, to: timestamp) - next * interval
        let isDue = isDue(at: timestamp, sourceInterval: sourceInterval)
        guard isDue, lag <= max(interval / 2, min(sourceInterval, interval)) else { return restart(at: timestamp) }
        next += 1
    }

    /// Begins the grid anew, with a frame that is sent.
    mutating func restart(at timestamp: UInt64) {
        start = timestamp
        next = 1
    }

    /// How far behind `timestamp` the grid's next time is, in nanoseconds; 0 if that has come.
    func wait(from timestamp: UInt64) -> UInt64 {
        guard let start, interval > 0 else { return 0 }
        // No more than two intervals, whatever the times: a frame that is no further behind than one was sent again.
        return UInt64(min(max(next * interval - Self.distance(from: start, to: timestamp), 0), 2 * interval))
    }

    /// Whether a source's clock stood still while its last frame was sent again, as the grid's did not.
    private func isStanding(at timestamp: UInt64) -> Bool {
        guard let start else { return false }
        return Self.distance(from: timestamp, to: start) > interval
    }

    private static func distance(from start: UInt64, to end: UInt64) -> Double {
        end >= start ? Double(end - start) : -Double(start - end)
    }
}
