/// How far apart the frames of a source arrive, by the monotonic clock.
///
/// Presentation times may be those of another clock, or none at all; whether a source has fallen silent is a matter of
/// real time.
package struct SourceRhythm: Sendable {
    /// The smoothed distance of two frames in nanoseconds; 0 until two have arrived.
    package private(set) var interval: UInt64 = 0

    private var last: UInt64?

    /// What a single step counts at most, unless the source is as slow as that; a long silence says little of its rate.
    private static let longestStep: UInt64 = 250_000_000

    package init() {}

    /// Notes that a frame has arrived.
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
    /// The sum, or the largest number if that is less.
    func addingClamping(_ other: UInt64) -> UInt64 {
        let (sum, overflows) = addingReportingOverflow(other)
        return overflows ? .max : sum
    }

    /// The product, or the largest number if that is less.
    func multipliedClamping(by other: UInt64) -> UInt64 {
        let (product, overflows) = multipliedReportingOverflow(by: other)
        return overflows ? .max : product
    }

    /// The difference, or 0 if `other` is larger.
    func subtractingClamping(_ other: UInt64) -> UInt64 {
        self > other ? self - other : 0
    }
}
