/// Decides for every frame whether it is sent, from its presentation time and whether it changed.
///
/// ```swift
/// var pacer = FramePacer(.framesPerSecond(15))
/// if pacer.decide(at: timestamp) == .take { show(image) }
/// ```
///
/// A pure state machine without a clock. Times are in nanoseconds and may jitter by half the interval of two frames; if
/// they jump back by more than the interval of the rate, or ahead by a second or more, the pacer starts over with that
/// frame.
package struct FramePacer: Sendable {
    /// What happens to a frame.
    package enum Decision: Sendable, Hashable {
        /// The frame is sent.
        case take
        /// The frame is not sent: ``SampleUploader/DropCause/paced`` or ``SampleUploader/DropCause/unchanged``.
        case drop(SampleUploader.DropCause)
    }

    /// The pacing; a new rate counts from the last frame that was sent.
    package var pacing: SampleUploader.Pacing {
        didSet { if pacing.rate != oldValue.rate { makeSchedules() } }
    }

    private var count = Count()
    /// What counted before the last frame that was taken, if that was taken in advance.
    private var before: Count?

    private var lastSeen: UInt64?
    /// The smoothed interval of frames in nanoseconds; 0 before it is known.
    private var sourceInterval = 0.0
    private var takesNext = true

    /// What changes when a frame is taken.
    private struct Count: Sendable {
        var schedule = RateSchedule(framesPerSecond: 0)
        /// The schedule of unchanged frames, if they have a separate rate.
        var stillSchedule = RateSchedule(framesPerSecond: 0)
        /// The number of frames since the last one that was taken, for every n-th.
        var passedOver = 0
        var lastTaken: UInt64?
    }

    /// The smallest step ahead that counts as a jump of the clock, in nanoseconds.
    private static let jump = 1e9

    /// Creates a pacer that takes the next frame.
    package init(_ pacing: SampleUploader.Pacing) {
        self.pacing = pacing
        makeSchedules()
    }

    /// Forces the next frame through, regardless of the rate and of whether it changed.
    package mutating func refresh() {
        takesNext = true
    }

    /// Decides on the next frame.
    ///
    /// - Parameters:
    ///   - timestamp: The frame's presentation time in nanoseconds.
    ///   - isChanged: Whether the frame differs from the last one that was taken.
    /// - Returns: Whether the frame is taken, and the cause if it is not.
    package mutating func decide(at timestamp: UInt64, isChanged: Bool = true) -> Decision {
        observe(timestamp)
        if takesNext {
            takeAgain(at: timestamp)
            return .take
        }
        guard isDue(at: timestamp) else {
            count.passedOver += 1
            return .drop(.paced)
        }
        if pacing.comparesImages, !isChanged, let cause = causeToDropUnchanged(at: timestamp) {
            return .drop(cause)
        }
        takeLate(at: timestamp)
        return .take
    }

    /// Records a frame that is held back for another reason than the rate.
    mutating func passOver(at timestamp: UInt64) {
        observe(timestamp)
        count.passedOver += 1
    }

    /// The time between two frames at the rate of changed frames, in nanoseconds; 0 without one.
    var interval: UInt64 { UInt64(count.schedule.interval) }

    private func isDue(at timestamp: UInt64) -> Bool {
        switch pacing.rate {
        case .everyFrame: true
        case .every(let n): count.passedOver + 1 >= n
        case .framesPerSecond, .adaptive: count.schedule.isDue(at: timestamp, sourceInterval: sourceInterval)
        }
    }

    /// Returns the cause for dropping an unchanged frame that would be due if changed; nil to keep it.
    private func causeToDropUnchanged(at timestamp: UInt64) -> SampleUploader.DropCause? {
        if pacing.skipsUnchanged {
            return isKeepAliveDue(at: timestamp) ? nil : .unchanged
        }
        return count.stillSchedule.isDue(at: timestamp, sourceInterval: sourceInterval) ? nil : .paced
    }

    private func isKeepAliveDue(at timestamp: UInt64) -> Bool {
        guard let keepAlive = pacing.keepAlive else { return false }
        guard let lastTaken = count.lastTaken else { return true }
        // A large step back means a restarted clock; a small one is jitter, or a frame that was sent again meanwhile.
        let distance = timestamp > lastTaken ? timestamp - lastTaken : lastTaken - timestamp
        return distance >= keepAlive.nanoseconds
    }

    // MARK: Frames that were passed over

    /// The shortest silence after which the last frame is sent for `SampleUploader.Pacing.Rate.every(_:)`, in nanoseconds.
    ///
    /// A source that submits several frames at once has not fallen silent between them.
    private static let shortestSilence: UInt64 = 100_000_000

    /// Returns whether ``decide(at:isChanged:)`` needs to know whether a frame has changed, or a frame that it takes is to be
    /// compared with later ones.
    func comparesFrame(at timestamp: UInt64) -> Bool {
        guard pacing.comparesImages else { return false }
        var pacer = self
        pacer.observe(timestamp)
        return pacer.takesNext || pacer.isDue(at: timestamp)
    }

    /// Returns the time at which a deferred frame is due, unless a newer one arrives first.
    ///
    /// With a rate, that is the next time on its grid; but while the source is expected to continue, its next frame may
    /// be closer to that time, so the deadline leaves time for it. With every n-th frame, it is n intervals of the
    /// source later.
    ///
    /// - Parameters:
    ///   - timestamp: The frame's presentation time; only the distance to the others counts.
    ///   - offeredAt: The time of submission, on the monotonic clock.
    ///   - rhythm: The interval of submissions.
    ///   - isUnchanged: Whether the frame is known to equal the last one that was taken.
    /// - Returns: The time on the monotonic clock.
    func deadline(
        for timestamp: UInt64,
        offeredAt: UInt64,
        rhythm: SourceRhythm,
        isUnchanged: Bool = false
    ) -> UInt64 {
        switch pacing.rate {
        case .everyFrame:
            return offeredAt
        case .every(let n):
            guard n > 1 else { return offeredAt }
            let silence = rhythm.interval.multipliedClamping(by: UInt64(n))
            return offeredAt.addingClamping(max(silence, Self.shortestSilence))
        case .framesPerSecond, .adaptive:
            let schedule = isUnchanged ? count.stillSchedule : count.schedule
            let silence = min(rhythm.interval.multipliedClamping(by: 2), UInt64(2 * schedule.interval))
            return offeredAt.addingClamping(max(schedule.wait(from: timestamp), silence))
        }
    }

    /// The minimum time between two repeats, in nanoseconds; nil if frames are not repeated during silence.
    var repeatInterval: UInt64? {
        guard pacing.skipsUnchanged, let keepAlive = pacing.keepAlive else { return nil }
        return max(
            keepAlive.nanoseconds,
            UInt64(max(count.schedule.interval, count.stillSchedule.interval)),
            Self.shortestSilence
        )
    }

    /// Records that a frame is sent when it is due, or later: the rate counts it at its own time.
    mutating func takeLate(at timestamp: UInt64) {
        count.schedule.advance(past: timestamp, sourceInterval: sourceInterval)
        count.stillSchedule.advance(past: timestamp, sourceInterval: sourceInterval)
        count.lastTaken = timestamp
        count.passedOver = 0
        before = nil
    }

    /// Records, as ``takeLate(at:)`` does, a frame that is about to be encoded: those that come meanwhile follow it at
    /// the rate, and not at once.
    mutating func takeInAdvance(at timestamp: UInt64) {
        let count = count
        takeLate(at: timestamp)
        before = count
    }

    /// Takes back ``takeInAdvance(at:)``, because the frame is not sent after all.
    ///
    /// - Returns: Whether it no longer counts; it still does if another frame was taken since, or the rate changed.
    mutating func takeBack() -> Bool {
        guard var before = before.take() else { return false }
        before.passedOver += count.passedOver
        count = before
        return true
    }

    /// Records that a frame is sent regardless of its time: the rate counts from it.
    mutating func takeAgain(at timestamp: UInt64) {
        count.schedule.restart(at: timestamp)
        count.stillSchedule.restart(at: timestamp)
        count.lastTaken = timestamp
        count.passedOver = 0
        takesNext = false
        before = nil
    }

    // MARK: The source

    /// Measures the interval of frames, and detects jumps of their clock.
    private mutating func observe(_ timestamp: UInt64) {
        defer { lastSeen = timestamp }
        guard let lastSeen else { return }
        guard timestamp > lastSeen else {
            // A small step back is jitter.
            if Double(lastSeen - timestamp) > max(count.schedule.interval, sourceInterval) { restart() }
            return
        }
        let step = Double(timestamp - lastSeen)
        if step > max(Self.jump, 4 * count.schedule.interval) { return restart() }
        // A single long pause says little about the source's rate.
        sourceInterval += sourceInterval == 0 ? step : (min(step, 2 * sourceInterval) - sourceInterval) / 8
    }

    private mutating func restart() {
        switch pacing.rate {
        case .everyFrame, .every: break
        case .framesPerSecond, .adaptive: takesNext = true
        }
        sourceInterval = 0
    }

    private mutating func makeSchedules() {
        before = nil
        let (rate, stillRate): (Double, Double) =
            switch pacing.rate {
            case .everyFrame, .every: (0, 0)
            case .framesPerSecond(let rate): (rate, 0)
            case .adaptive(let still, let motion): (motion, still)
            }
        count.schedule = RateSchedule(framesPerSecond: rate)
        count.stillSchedule = RateSchedule(framesPerSecond: stillRate)
        guard let lastTaken = count.lastTaken else { return }
        count.schedule.restart(at: lastTaken)
        count.stillSchedule.restart(at: lastTaken)
    }
}
