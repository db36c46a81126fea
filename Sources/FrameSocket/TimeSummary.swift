/// How long something took, over many times: how often, on average, at most.
public struct TimeSummary: Sendable, Hashable {
    /// How many times it was measured.
    public private(set) var count = 0

    /// Nanoseconds in all.
    public private(set) var total: UInt64 = 0

    /// The most nanoseconds that it took.
    public private(set) var maximum: UInt64 = 0

    /// Nothing measured yet.
    public init() {}

    /// Nanoseconds on average; 0 before anything was measured.
    public var mean: UInt64 { count == 0 ? 0 : total / UInt64(count) }

    /// Adds one measurement.
    public mutating func add(nanoseconds: UInt64) {
        count += 1
        total &+= nanoseconds
        maximum = max(maximum, nanoseconds)
    }
}
