/// How unevenly frames arrive: by how much the time between two of them differs from that of their presentation times.
///
/// Only differences count, so the two clocks need not agree.
public struct ArrivalJitter: Sendable, Hashable {
    /// The mean of the differences in nanoseconds, smoothed by a sixteenth as RTP does (RFC 3550, 6.4.1).
    public var smoothed: UInt64 { UInt64(estimate) }

    /// The largest difference, in nanoseconds.
    public private(set) var maximum: UInt64 = 0

    private var estimate = 0.0
    private var last: (timestamp: UInt64, receivedAt: UInt64)?

    /// Nothing measured yet.
    public init() {}

    /// Adds a frame, by its presentation time and when it was received.
    public mutating func add(timestamp: UInt64, receivedAt: UInt64) {
        defer { last = (timestamp, receivedAt) }
        guard let last else { return }
        let sent = Self.difference(timestamp, last.timestamp)
        let received = Self.difference(receivedAt, last.receivedAt)
        // A peer may state any time; beyond a century it does not matter by how much.
        let deviation = min(abs(received - sent), 0x1p62)
        estimate += (deviation - estimate) / 16
        maximum = max(maximum, UInt64(deviation))
    }

    /// `first - second`, which may be negative; at most 2^64 in size, and so twice that as a difference of two.
    private static func difference(_ first: UInt64, _ second: UInt64) -> Double {
        first >= second ? Double(first - second) : -Double(second - first)
    }

    /// Whether the same has been measured.
    public static func == (first: Self, second: Self) -> Bool {
        first.estimate == second.estimate && first.maximum == second.maximum
            && first.last?.timestamp == second.last?.timestamp && first.last?.receivedAt == second.last?.receivedAt
    }

    /// Feeds what has been measured to a hasher.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(estimate)
        hasher.combine(maximum)
        hasher.combine(last?.timestamp)
        hasher.combine(last?.receivedAt)
    }
}
