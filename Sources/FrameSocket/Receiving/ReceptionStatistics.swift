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

    /// Adds a frame that did not arrive over a connection of this package.
    ///
    /// - Parameters:
    ///   - byteCount: The number of bytes in its body.
    ///   - timestamp: Its presentation time in nanoseconds, if known.
    ///   - sequence: Its number, if known.
    ///   - receivedAt: The time at which its last byte arrived, in nanoseconds.
    ///   - transferTime: The time from its first byte to its last.
    package mutating func add(
        byteCount: Int,
        timestamp: UInt64?,
        sequence: UInt64?,
        receivedAt: UInt64,
        transferTime: Duration
    ) {
        add(
            byteCount: byteCount,
            timestamp: timestamp,
            sequence: sequence,
            receivedAt: receivedAt,
            transferTime: transferTime,
            after: 0
        )
    }

    private mutating func add(
        byteCount: Int,
        timestamp: UInt64?,
        sequence: UInt64?,
        receivedAt: UInt64,
        transferTime: Duration,
        after superseded: UInt64
    ) {
        frames += 1
        bytes &+= UInt64(max(0, byteCount))
        transfer.add(transferTime)
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
