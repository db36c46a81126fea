/// The times at which pictures are due at a fixed rate: a grid that begins with a picture, and does not drift.
struct RateSchedule: Sendable {
    /// Nanoseconds between two pictures; 0 where there is no limit.
    let interval: Double

    /// Where the grid begins; nil before the first picture.
    private var start: UInt64?
    /// The number of the grid's next time.
    private var next = 1.0

    init(framesPerSecond rate: Double) {
        // Eleven days between two pictures are as good as never, and keep the sums below far from any overflow.
        interval = rate > 0 && rate.isFinite ? min(1e9 / rate, 1e15) : 0
    }

    /// Whether a picture is due, or nearer to its due time than the next one will be.
    func isDue(at timestamp: UInt64, sourceInterval: Double) -> Bool {
        guard let start, interval > 0 else { return true }
        let early = min(sourceInterval, interval) / 2
        return Self.distance(from: start, to: timestamp) + early >= next * interval
    }

    /// Notes that a picture is sent.
    ///
    /// The grid stays where it is, unless the picture was not due, or so late that the next one would follow on its
    /// heels: what a pause has cost is not made up for. A source no faster than the rate may lag by a whole interval, for
    /// its pictures cannot follow any closer, and each is wanted.
    mutating func advance(past timestamp: UInt64, sourceInterval: Double) {
        guard let start, interval > 0 else { return restart(at: timestamp) }
        let lag = Self.distance(from: start, to: timestamp) - next * interval
        let isDue = isDue(at: timestamp, sourceInterval: sourceInterval)
        guard isDue, lag <= max(interval / 2, min(sourceInterval, interval)) else { return restart(at: timestamp) }
        next += 1
    }

    /// Begins the grid anew, with a picture that is sent.
    mutating func restart(at timestamp: UInt64) {
        start = timestamp
        next = 1
    }

    private static func distance(from start: UInt64, to end: UInt64) -> Double {
        end >= start ? Double(end - start) : -Double(start - end)
    }
}
