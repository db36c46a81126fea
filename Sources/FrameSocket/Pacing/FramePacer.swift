/// When the next image has its turn, from its presentation time and the source's clock.
///
/// A value without a clock. Times are in nanoseconds, and presentation times may jitter by half the interval of two frames. A
/// turn stays due until it is taken: what is sent then is the newest image, and need not be the one that was due.
struct FramePacer: Sendable {
    /// The pacing; a new rate counts from the last image that was sent.
    var pacing: SampleUploader.Pacing {
        didSet { if pacing.rate != oldValue.rate { makeSchedules() } }
    }

    /// What changes when an image takes its turn.
    private struct Count: Sendable {
        var schedule = RateSchedule(framesPerSecond: 0)
        /// The schedule of unchanged frames, if they have a separate rate.
        var stillSchedule = RateSchedule(framesPerSecond: 0)
        /// The number of images since then.
        var passed = Int.max / 2
        /// When one of them has its turn at the latest, so that nothing is postponed indefinitely.
        var latest = UInt64.max
        var lastTaken: UInt64?
    }

    private var count = Count()
    /// What counted before the last turn.
    private var before: Count?

    /// The presentation time of the last image, and its time on the source's clock and on ours.
    private var last: (timestamp: UInt64, sourceTime: UInt64, at: UInt64)?
    /// The offset that is added to timestamps since the source's clock stepped back.
    private var clockOffset: UInt64 = 0
    /// The smoothed interval of presentation times in nanoseconds; 0 before it is known.
    private var sourceInterval = 0.0
    private var rhythm = SourceRhythm()

    /// The smallest step ahead that counts as a jump of the clock, in nanoseconds.
    private static let jump = 1e9

    /// The shortest silence after which the last frame is sent for `SampleUploader.Pacing.Rate.every(_:)`, in nanoseconds.
    ///
    /// A source that submits several frames at once has not fallen silent between them.
    private static let shortestSilence: UInt64 = 100_000_000

    /// The interval of a source that has not shown its own yet: 30 frames a second.
    private static let usualInterval: UInt64 = 33_333_333

    init(_ pacing: SampleUploader.Pacing) {
        self.pacing = pacing
        makeSchedules()
    }

    // MARK: The source

    /// Notes an image.
    ///
    /// A clock that stands still or steps back is assumed to continue at the pace of ours, so that a rate applies to the
    /// images that follow, whatever their timestamps are.
    ///
    /// - Returns: Its time on the source's clock, which is its timestamp while the timestamps advance.
    mutating func offer(_ timestamp: UInt64, at now: UInt64) -> UInt64 {
        let time = clockTime(timestamp, at: now)
        rhythm.add(now)
        if let last { observe(time, after: last.sourceTime) }
        count.passed += 1
        last = (timestamp, time, now)
        return time
    }

    private mutating func clockTime(_ timestamp: UInt64, at now: UInt64) -> UInt64 {
        guard let last else { return timestamp }
        let ours = sourceTime(at: now)
        guard timestamp != last.timestamp else { return ours }
        let time = timestamp &+ clockOffset
        // Jitter is less than the interval of two frames.
        guard time < last.sourceTime, last.sourceTime - time >= rhythm.interval else { return time }
        guard ours < .max / 2 else {
            // No clock has such a time: the pacing starts over with this frame.
            clockOffset = 0
            return timestamp
        }
        clockOffset = ours &- timestamp
        return ours
    }

    private mutating func observe(_ time: UInt64, after last: UInt64) {
        guard time > last else { return }
        let step = Double(time - last)
        if step > max(Self.jump, 4 * count.schedule.interval) {
            sourceInterval = 0
        } else {
            // A single long pause says little about the source's rate.
            sourceInterval += sourceInterval == 0 ? step : (min(step, 2 * sourceInterval) - sourceInterval) / 8
        }
    }

    /// Returns the time on the source's clock, which may differ from ours: only the distance to its last frame counts.
    func sourceTime(at now: UInt64) -> UInt64 {
        guard let last else { return now }
        return last.sourceTime.addingClamping(now.subtractingClamping(last.at))
    }

    /// The expected time between two images that are sent, in nanoseconds.
    var interval: UInt64 {
        max(rhythm.interval == 0 ? Self.usualInterval : rhythm.interval, UInt64(count.schedule.interval))
    }

    // MARK: Turns

    /// Returns the time from which the newest image may be sent, unless a newer one arrives first.
    ///
    /// With a rate, that is the next time on its grid; but while the source is expected to continue, its next image may
    /// be closer to that time, so this leaves time for it. With every n-th image, it is n intervals of the source later.
    ///
    /// - Parameters:
    ///   - sourceTime: The image's time on the source's clock.
    ///   - offeredAt: The time of submission, on the monotonic clock.
    ///   - isUnchanged: Whether the image is known to equal the last one that was sent.
    /// - Returns: The time on the monotonic clock.
    func turn(of sourceTime: UInt64, offeredAt: UInt64, isUnchanged: Bool = false) -> UInt64 {
        switch pacing.rate {
        case .everyFrame: return offeredAt
        case .every(let n):
            guard count.passed < n else { return offeredAt }
            let silence = rhythm.interval.multipliedClamping(by: UInt64(n))
            return min(count.latest, offeredAt.addingClamping(max(silence, Self.shortestSilence)))
        case .framesPerSecond, .adaptive:
            let schedule = isUnchanged ? count.stillSchedule : count.schedule
            if schedule.isDue(at: sourceTime, sourceInterval: sourceInterval) { return offeredAt }
            let silence = min(rhythm.interval.multipliedClamping(by: 2), UInt64(2 * schedule.interval))
            let due = offeredAt.addingClamping(max(schedule.wait(from: sourceTime), silence))
            return isUnchanged ? due : min(count.latest, due)
        }
    }

    /// Notes when the newest image has its turn, which a newer one does not postpone for long.
    mutating func hold(until turn: UInt64) {
        count.latest = min(count.latest, turn.addingClamping(rhythm.interval.multipliedClamping(by: 2)))
    }

    /// Records that an image is sent when it is due, or later: the rate counts it at its own time.
    mutating func take(_ sourceTime: UInt64, at now: UInt64) {
        before = count
        let isDue = count.schedule.isDue(at: sourceTime, sourceInterval: sourceInterval)
        let time = isDue ? sourceTime : self.sourceTime(at: now)
        count.schedule.advance(past: time, sourceInterval: sourceInterval)
        count.stillSchedule.advance(past: time, sourceInterval: sourceInterval)
        (count.passed, count.latest, count.lastTaken) = (0, .max, time)
    }

    /// Records that an image is sent regardless of its time: the rate counts from it.
    mutating func restart(at now: UInt64) {
        before = nil
        let time = sourceTime(at: now)
        count.schedule.restart(at: time)
        count.stillSchedule.restart(at: time)
        (count.passed, count.latest, count.lastTaken) = (0, .max, time)
    }

    /// Nothing has come of the last turn: the newest image has it instead.
    mutating func putBack() {
        guard var before = before.take() else { return }
        before.passed += count.passed
        before.latest = min(before.latest, count.latest)
        count = before
    }

    private mutating func makeSchedules() {
        let (rate, stillRate): (Double, Double) =
            switch pacing.rate {
            case .everyFrame, .every: (0, 0)
            case .framesPerSecond(let rate): (rate, 0)
            case .adaptive(let still, let motion): (motion, still)
            }
        (before, count.latest) = (nil, .max)
        count.schedule = RateSchedule(framesPerSecond: rate)
        count.stillSchedule = RateSchedule(framesPerSecond: stillRate)
        guard let lastTaken = count.lastTaken else { return }
        count.schedule.restart(at: lastTaken)
        count.stillSchedule.restart(at: lastTaken)
    }

    // MARK: Unchanged images

    /// Returns whether an image is sent although it equals the one before.
    func sendsUnchanged(_ sourceTime: UInt64) -> Bool {
        !pacing.skipsUnchanged && count.stillSchedule.isDue(at: sourceTime, sourceInterval: sourceInterval)
    }

    /// The time after which what was sent is sent again, in nanoseconds; nil for never.
    var keepAlive: UInt64? {
        guard pacing.skipsUnchanged, let keepAlive = pacing.keepAlive else { return nil }
        return max(
            keepAlive.nanoseconds,
            UInt64(max(count.schedule.interval, count.stillSchedule.interval)),
            Self.shortestSilence
        )
    }
}

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

/// The interval between the frames of a source, on the monotonic clock.
///
/// Presentation times may come from another clock, or from none; whether a source has fallen silent depends on real
/// time.
struct SourceRhythm: Sendable {
    /// The smoothed interval of frames in nanoseconds; 0 until two have arrived.
    private(set) var interval: UInt64 = 0

    private var last: UInt64?
    /// The last two steps, the later one first.
    private var steps: (UInt64?, UInt64?) = (nil, nil)
    /// How the last typical step differed from the interval.
    private var pace = Pace.same

    private enum Pace: Sendable {
        case faster, same, slower
    }

    init() {}

    /// Records the arrival of a frame.
    mutating func add(_ time: UInt64) {
        defer { last = max(time, last ?? 0) }
        guard let last else { return }
        let step = time > last ? time - last : 0
        let typical = typical(step)
        steps = (step, steps.0)
        let double = interval.multipliedClamping(by: 2)
        let old = pace
        pace = typical < interval / 2 ? .faster : typical > double ? .slower : .same
        // Frames that come in pairs are faster and slower in turn.
        guard interval > 0, pace == .same || pace != old else {
            interval = typical
            return
        }
        // An eighth of the difference, in either direction.
        let capped = min(typical, double)
        interval = capped > interval ? interval + (capped - interval) / 8 : interval - (interval - capped) / 8
    }

    /// Returns the median of the last three steps, or the shorter of two.
    ///
    /// A single pause says nothing about the rate of a source.
    private func typical(_ step: UInt64) -> UInt64 {
        guard let previous = steps.0 else { return step }
        let (shorter, longer) = (min(step, previous), max(step, previous))
        guard let first = steps.1 else { return shorter }
        return max(shorter, min(longer, first))
    }
}
