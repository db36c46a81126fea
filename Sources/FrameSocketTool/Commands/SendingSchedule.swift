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

    /// Waits until the next frame is due.
    ///
    /// - Returns: the frame's own time, so that pacing follows the schedule and not the moment at which a frame is
    ///   ready; nil without a rate.
    mutating func wait() async -> UInt64? {
        guard interval != nil else { return nil }
        let due = next(after: clock.now)
        let start = start ?? (due, MonotonicClock.now())
        self.start = start
        try? await clock.sleep(until: due)
        return start.timestamp &+ UInt64(min(max(0, (due - start.instant) / .nanoseconds(1)), 1e18))
    }
}
