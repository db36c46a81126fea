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

extension UInt64 {
    /// Returns the sum, clamped to the maximum.
    func addingClamping(_ other: UInt64) -> UInt64 {
        let (sum, overflows) = addingReportingOverflow(other)
        return overflows ? .max : sum
    }

    /// Returns the product, clamped to the maximum.
    func multipliedClamping(by other: UInt64) -> UInt64 {
        let (product, overflows) = multipliedReportingOverflow(by: other)
        return overflows ? .max : product
    }

    /// Returns the difference, or 0 if `other` is larger.
    func subtractingClamping(_ other: UInt64) -> UInt64 {
        self > other ? self - other : 0
    }
}
