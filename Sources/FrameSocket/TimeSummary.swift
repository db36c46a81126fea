internal import FrameTransport

/// A summary of durations: their number, mean and maximum.
public struct TimeSummary: Sendable, Hashable {
    /// The number of measurements.
    public private(set) var count = 0

    private var totalNanoseconds: UInt64 = 0
    private var maximumNanoseconds: UInt64 = 0

    /// Creates a summary without measurements.
    package init() {}

    /// The sum of the measurements.
    package var total: Duration { Duration(nanoseconds: totalNanoseconds) }

    /// The longest measurement; zero before the first one.
    public var maximum: Duration { Duration(nanoseconds: maximumNanoseconds) }

    /// The mean, in whole nanoseconds; zero before the first measurement.
    public var mean: Duration { Duration(nanoseconds: count == 0 ? 0 : totalNanoseconds / UInt64(count)) }

    /// Adds a measurement in nanoseconds.
    package mutating func add(nanoseconds: UInt64) {
        count += 1
        totalNanoseconds &+= nanoseconds
        maximumNanoseconds = max(maximumNanoseconds, nanoseconds)
    }
}
