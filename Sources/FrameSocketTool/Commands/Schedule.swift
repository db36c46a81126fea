import FrameSocket

/// When frames that are sent at a fixed rate are due.
///
/// After a stall of the source or the receiver the schedule starts again, so that no burst makes up for it.
struct SendingSchedule {
    /// How late a frame may be without counting as a stall.
    private static let tolerance: Duration = .milliseconds(250)

    private let interval: Duration?
    private let clock = ContinuousClock()
    /// When the first frame was due, and the same moment on the clock of timestamps.
    private var start: (instant: ContinuousClock.Instant, timestamp: UInt64)?
    private var last: ContinuousClock.Instant?

    /// Creates a schedule of `rate` frames a second; nil for as many as possible.
    init(framesPerSecond: Double?) {
        interval = framesPerSecond.map { .seconds(1 / $0) }
    }

    /// Returns when the next frame is due, asked for at `now`.
    mutating func next(after now: ContinuousClock.Instant) -> ContinuousClock.Instant {
        guard let interval, let last else {
            last = now
            return now
        }
        let due = last + interval
        // A small delay comes from the system waking this thread, and is not a stall.
        let isStalled = now - due > max(interval, Self.tolerance)
        self.last = isStalled ? now : due
        return isStalled ? now : due
    }

    /// Starts again with a frame that was due before, and is sent only now.
    mutating func restart() { last = clock.now }

    /// Waits until the next frame is due.
    ///
    /// - Returns: the frame's own time, so that pacing follows the schedule and not the moment at which a frame is
    ///   ready; nil without a rate.
    mutating func wait() -> UInt64? {
        guard interval != nil else { return nil }
        let due = next(after: clock.now)
        let start = start ?? (due, MonotonicClock.now())
        self.start = start
        clock.block(until: due)
        return start.timestamp &+ UInt64(min(max(0, (due - start.instant) / .nanoseconds(1)), 1e18))
    }
}

/// When recorded events are due during a replay.
struct ReplayPace {
    private let speed: Double
    private let clock = ContinuousClock()
    private let start: ContinuousClock.Instant
    /// When the replay began, on the clock of timestamps.
    private let startedAt = MonotonicClock.now()
    private var last: UInt64?
    /// The part of the recording that has been replayed, since its beginning.
    private var elapsed: UInt64 = 0
    /// What had elapsed when this recording began, and the number of distances in it so far.
    private var begun: UInt64 = 0
    private var distances: UInt64 = 0

    init(speed: Double) {
        self.speed = speed
        start = clock.now
    }

    /// Advances to what was recorded at `time`; what is not later than its predecessor is due at once.
    mutating func advance(to time: UInt64) {
        if let last {
            if time > last { elapsed = elapsed.addingReportingOverflow(time - last).partialValue }
            distances += 1
        }
        last = time
    }

    /// Advances to another recording, which begins a mean distance after the last event of this one.
    mutating func rewind() {
        if distances > 0 {
            let mean = elapsed.subtractingReportingOverflow(begun).partialValue / distances
            elapsed = elapsed.addingReportingOverflow(mean).partialValue
        }
        (begun, distances, last) = (elapsed, 0, nil)
    }

    /// The timestamp of what is due: its distance from the first, in the replay's time.
    ///
    /// As fast as possible, the distances are those of the recording.
    var timestamp: UInt64 {
        let scaled = speed > 0 ? Double(elapsed) / speed : 0
        let offset = speed == 0 || speed == 1 ? elapsed : UInt64(exactly: min(scaled, 1e18).rounded()) ?? 0
        return startedAt.addingReportingOverflow(offset).partialValue
    }

    /// Waits until it is due.
    func wait() {
        guard speed > 0 else { return }
        clock.block(until: start + .seconds(min(Double(elapsed) / 1e9 / speed, 1e9)))
    }
}

extension ContinuousClock {
    /// Blocks the thread, which is the command's own: a task that sleeps wakes two others for each frame.
    fileprivate func block(until instant: Instant) {
        let parts = max(.zero, instant - now).components
        var time = timespec(tv_sec: Int(parts.seconds), tv_nsec: Int(parts.attoseconds / 1_000_000_000))
        var rest = timespec()
        while unsafe nanosleep(&time, &rest) != 0, errno == EINTR { time = rest }
    }
}
