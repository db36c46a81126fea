/// The interval between the frames of a source, on the monotonic clock.
///
/// Presentation times may come from another clock, or from none; whether a source has fallen silent depends on real
/// time.
package struct SourceRhythm: Sendable {
    /// The smoothed interval of frames in nanoseconds; 0 until two have arrived.
    package private(set) var interval: UInt64 = 0

    private var last: UInt64?
    /// The last two steps, the later one first.
    private var steps: (UInt64?, UInt64?) = (nil, nil)
    /// How the last typical step differed from the interval.
    private var pace = Pace.same

    private enum Pace: Sendable {
        case faster, same, slower
    }

    package init() {}

    /// Records the arrival of a frame.
    package mutating func add(_ time: UInt64) {
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
