/// The times at which frames are due at a fixed rate: a grid that starts with a frame and does not drift.
struct RateSchedule: Sendable {
    /// The nanoseconds between two frames; 0 for no limit.
    let interval: Double

    /// The start of the grid; nil before the first frame.
    private var start: UInt64?
    /// The index of the next time on the grid.
    private var next = 1.0

    init(framesPerSecond rate: Double) {
        // Eleven days between two frames are practically never, and keep the sums below far from overflow.
        interval = rate > 0 && rate.isFinite ? min(1e9 / rate, 1e15) : 0
    }

    /// Returns whether a frame is due, or closer to its due time than the next one will be.
    func isDue(at timestamp: UInt64, sourceInterval: Double) -> Bool {
        guard let start, interval > 0, !hasClockStopped(at: timestamp) else { return true }
        let early = min(sourceInterval, interval) / 2
        return Self.distance(from: start, to: timestamp) + early >= next * interval
    }

    /// Records that a frame is sent.
    ///
    /// The grid stays in place, unless the frame was not due, or was so late that the next one would follow
    /// immediately: time lost in a pause is not made up for. A source no faster than the rate may lag by a whole
    /// interval, because its frames cannot be any closer, and every one is wanted.
    mutating func advance(past timestamp: UInt64, sourceInterval: Double) {
        guard let start, interval > 0, !hasClockStopped(at: timestamp) else { return restart(at: timestamp) }
        let lag = Self.distance(from: start, to: timestamp) - next * interval
        let isDue = isDue(at: timestamp, sourceInterval: sourceInterval)
        guard isDue, lag <= max(interval / 2, min(sourceInterval, interval)) else { return restart(at: timestamp) }
        next += 1
    }

    mutating func restart(at timestamp: UInt64) {
        start = timestamp
        next = 1
    }

    /// Returns the time from `timestamp` to the next time on the grid, in nanoseconds; 0 if that has passed.
    func wait(from timestamp: UInt64) -> UInt64 {
        guard let start, interval > 0 else { return 0 }
        // At most two intervals, whatever the times: a frame that is at most one interval behind was sent again.
        return UInt64(min(max(next * interval - Self.distance(from: start, to: timestamp), 0), 2 * interval))
    }

    /// Returns whether the source's clock stopped while its last frame was sent again and the grid advanced.
    private func hasClockStopped(at timestamp: UInt64) -> Bool {
        guard let start else { return false }
        return Self.distance(from: timestamp, to: start) > interval
    }

    private static func distance(from start: UInt64, to end: UInt64) -> Double {
        end >= start ? Double(end - start) : -Double(start - end)
    }
}
