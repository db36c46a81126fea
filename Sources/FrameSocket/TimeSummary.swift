/// A summary of durations: their number, mean and maximum.
public struct TimeSummary: Sendable, Hashable {
    /// The number of measurements.
    public private(set) var count = 0

    /// The total in nanoseconds.
    public private(set) var total: UInt64 = 0

    /// The longest measurement in nanoseconds.
    public private(set) var maximum: UInt64 = 0

    /// Creates a summary without measurements.
    public init() {}

    /// The mean in nanoseconds; 0 before the first measurement.
    public var mean: UInt64 { count == 0 ? 0 : total / UInt64(count) }

    /// Adds a measurement.
    public mutating func add(nanoseconds: UInt64) {
        count += 1
        total &+= nanoseconds
        maximum = max(maximum, nanoseconds)
    }
}
