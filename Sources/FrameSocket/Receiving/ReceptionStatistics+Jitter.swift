internal import FrameTransport

extension ReceptionStatistics {
    /// The jitter of frame arrivals: the differences between arrival intervals and presentation intervals.
    ///
    /// Only differences count, so the clocks do not have to agree.
    public struct Jitter: Sendable, Hashable {
        /// The mean difference, smoothed by a factor of 1/16 as in RTP (RFC 3550, 6.4.1).
        public var smoothed: Duration { Duration(nanoseconds: UInt64(estimate)) }

        /// The largest difference.
        public var maximum: Duration { Duration(nanoseconds: maximumNanoseconds) }

        private var maximumNanoseconds: UInt64 = 0

        private var estimate = 0.0
        private var last: (timestamp: UInt64, receivedAt: UInt64)?

        /// Creates an empty measurement.
        package init() {}

        /// Adds a frame, given its presentation time and the time of its arrival.
        package mutating func add(timestamp: UInt64, receivedAt: UInt64) {
            defer { last = (timestamp, receivedAt) }
            guard let last else { return }
            let sent = Self.difference(timestamp, last.timestamp)
            let received = Self.difference(receivedAt, last.receivedAt)
            // A peer may state any time; differences of more than a century are clamped.
            let deviation = min(abs(received - sent), 0x1p62)
            estimate += (deviation - estimate) / 16
            maximumNanoseconds = max(maximumNanoseconds, UInt64(deviation))
        }

        /// Returns `first - second`, which may be negative: at most 2^64 in magnitude, and so at most twice that as a
        /// difference of two.
        private static func difference(_ first: UInt64, _ second: UInt64) -> Double {
            first >= second ? Double(first - second) : -Double(second - first)
        }

        /// Returns whether two measurements are equal.
        public static func == (first: Self, second: Self) -> Bool {
            first.estimate == second.estimate && first.maximumNanoseconds == second.maximumNanoseconds
                && first.last?.timestamp == second.last?.timestamp && first.last?.receivedAt == second.last?.receivedAt
        }

        /// Hashes the measurement.
        public func hash(into hasher: inout Hasher) {
            hasher.combine(estimate)
            hasher.combine(maximumNanoseconds)
            hasher.combine(last?.timestamp)
            hasher.combine(last?.receivedAt)
        }
    }
}
