public import FrameTransport

/// Statistics of received frames, computed from the frames themselves.
///
/// ```swift
/// var statistics = ReceptionStatistics()
/// for try await frame in connection.frames { statistics.add(frame) }
/// ```
public struct ReceptionStatistics: Sendable, Hashable {
    /// The number of received frames.
    public private(set) var frames = 0

    /// The number of bytes in their bodies.
    public private(set) var bytes: UInt64 = 0

    /// The time from the first byte of a frame to its last.
    public private(set) var transfer = TimeSummary()

    /// The time from presentation to the arrival of the last byte, if the sender states a presentation time by this
    /// machine's clock.
    public private(set) var latency = TimeSummary()

    /// The arrival jitter, if the sender states presentation times.
    public private(set) var jitter = Jitter()

    /// The gaps in the sender's numbers, without those of frames that arrived and were superseded.
    public private(set) var loss = Loss()

    /// The number of frames that the sender numbered and dropped, from gaps in its numbers.
    ///
    /// What its pacing or a budget leaves out has no number. A frame that arrived and that a newer one replaced is not
    /// missing: `FrameConnection.Statistics.supersededFrames` counts it.
    public var missing: UInt64 { loss.missing }

    /// The number of frames that the sender sent again, on a receiver's request or while its source is silent.
    ///
    /// They count as ``frames``, but not for ``latency`` and ``jitter``, because they were presented before.
    public private(set) var repeats = 0

    private var lastTimestamp: UInt64?
    private var lastSequence: UInt64?
    private var lastIndex: Int?

    /// Creates empty statistics.
    public init() {}

    /// Adds a frame; add the frames of one connection, in order.
    public mutating func add(_ frame: Frame) {
        // The connection counts every frame that arrives: those between two that are added were superseded.
        let superseded = lastIndex.map { max(0, frame.index.subtractingReportingOverflow($0).partialValue - 1) } ?? 0
        lastIndex = frame.index
        add(
            byteCount: frame.jpeg?.count ?? 0,
            timestamp: frame.timestamp,
            sequence: frame.sequence,
            receivedAt: frame.receivedAt,
            transferTime: frame.transferTime,
            after: UInt64(superseded)
        )
    }

    /// Adds a frame, before which the given count of frames arrived that are not added.
    ///
    /// - Parameters:
    ///   - byteCount: The number of bytes in its body.
    ///   - timestamp: Its presentation time in nanoseconds, if known.
    ///   - sequence: Its number, if known.
    ///   - receivedAt: The time at which its last byte arrived, in nanoseconds.
    ///   - transferTime: The nanoseconds from its first byte to its last.
    ///   - superseded: The count of frames before it that arrived and are not added.
    package mutating func add(
        byteCount: Int,
        timestamp: UInt64?,
        sequence: UInt64?,
        receivedAt: UInt64,
        transferTime: UInt64,
        after superseded: UInt64 = 0
    ) {
        frames += 1
        bytes &+= UInt64(max(0, byteCount))
        transfer.add(nanoseconds: transferTime)
        if let sequence { loss.add(sequence, after: superseded) }
        defer { (lastTimestamp, lastSequence) = (timestamp, sequence) }
        if let sequence, sequence == lastSequence, timestamp == lastTimestamp {
            repeats += 1
            return
        }
        if let timestamp {
            jitter.add(timestamp: timestamp, receivedAt: receivedAt)
            if timestamp <= receivedAt { latency.add(nanoseconds: receivedAt - timestamp) }
        }
    }
}

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
        private var lastTimestamp: UInt64?
        private var lastReceivedAt: UInt64 = 0

        /// Creates an empty measurement.
        package init() {}

        /// Adds a frame, given its presentation time and the time of its arrival.
        package mutating func add(timestamp: UInt64, receivedAt: UInt64) {
            defer { (lastTimestamp, lastReceivedAt) = (timestamp, receivedAt) }
            guard let lastTimestamp else { return }
            let sent = Self.difference(timestamp, lastTimestamp)
            let received = Self.difference(receivedAt, lastReceivedAt)
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
    }
}

extension ReceptionStatistics {
    /// The loss in a sequence of numbers, tolerant of reordering.
    public struct Loss: Sendable, Hashable {
        /// The count of missing numbers between the lowest and the highest.
        ///
        /// A number that arrives late is no longer missing, nor is that of a frame that arrived and was superseded.
        public var missing: UInt64 { absent - min(absent, superseded) }

        /// The count of numbers that arrived after a higher one.
        package private(set) var reordered = 0

        /// The count of arrivals of numbers that had arrived before.
        public private(set) var repeated = 0

        /// The count of distinct numbers that arrived.
        public private(set) var received = 0

        /// The fraction that did not arrive, from 0 to 1; 0 before any number has arrived.
        public var rate: Double {
            let arrived = Double(received) + Double(min(absent, superseded))
            return received == 0 ? 0 : Double(missing) / (arrived + Double(missing))
        }

        /// The count of numbers between the lowest and the highest that were not added.
        private var absent: UInt64 = 0
        /// How many of these belong to frames that arrived.
        ///
        /// A number that is added late may be one that was taken for one of these: then this is more than what is absent.
        private var superseded: UInt64 = 0
        private var highest: UInt64?
        private var lowest: UInt64 = 0
        /// Which of the 64 numbers up to the highest have arrived; the lowest bit is the highest number.
        private var window: UInt64 = 0

        /// The distance below the highest number at which a number no longer counts as late.
        ///
        /// A number this far behind, or further, begins a new sequence.
        static let reach: UInt64 = 64

        /// Creates an empty count.
        package init() {}

        /// Counts a number before which the given count of frames arrived that are not added.
        package mutating func add(_ number: UInt64, after superseded: UInt64 = 0) {
            received += 1
            guard let highest else { return begin(at: number) }
            if number > highest {
                let step = number - highest
                absent &+= step - 1
                self.superseded &+= min(superseded, step - 1)
                window = step < Self.reach ? window << step | 1 : 1
                self.highest = number
                return
            }
            let age = highest - number
            guard age < Self.reach else { return begin(at: number) }
            guard window & (1 << age) == 0 else {
                repeated += 1
                received -= 1
                return
            }
            window |= 1 << age
            reordered += 1
            if number < lowest {
                absent &+= lowest - number - 1
                lowest = number
            } else {
                absent &-= 1
            }
        }

        private mutating func begin(at number: UInt64) {
            highest = number
            lowest = number
            // Numbers before the first one are not gaps of this sequence.
            window = 1
        }
    }
}
