/// The interval between the frames of a source, on the monotonic clock.
///
/// Presentation times may come from another clock, or from none; whether a source has fallen silent depends on real
/// time.
package struct SourceRhythm: Sendable {
    /// The smoothed interval of frames in nanoseconds; 0 until two have arrived.
    package private(set) var interval: UInt64 = 0

    private var last: UInt64?

    /// The most that a single step counts, unless the source is that slow; a long silence says little about its rate.
    private static let longestStep: UInt64 = 250_000_000

    package init() {}

    /// Records the arrival of a frame.
    package mutating func add(_ time: UInt64) {
        defer { last = max(time, last ?? 0) }
        guard let last else { return }
        let step = time > last ? time - last : 0
        guard interval > 0 else {
            interval = step
            return
        }
        let capped = min(step, max(interval.multipliedClamping(by: 2), Self.longestStep))
        // An eighth of the difference, in either direction.
        interval = capped > interval ? interval + (capped - interval) / 8 : interval - (interval - capped) / 8
    }
}
