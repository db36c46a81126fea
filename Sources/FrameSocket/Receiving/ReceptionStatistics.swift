public import FrameTransport

/// What has been received, from the frames themselves.
///
///     var statistics = ReceptionStatistics()
///     for try await frame in connection.frames { statistics.add(frame) }
public struct ReceptionStatistics: Sendable, Hashable {
    /// Frames received.
    public private(set) var frames = 0

    /// Bytes of their bodies.
    public private(set) var bytes: UInt64 = 0

    /// From the first byte of a frame to its last.
    public private(set) var transfer = TimeSummary()

    /// From the presentation time to the last byte, if the sender states one and its clock is this machine's.
    public private(set) var latency = TimeSummary()

    /// How unevenly frames arrive, if the sender states presentation times.
    public private(set) var jitter = ArrivalJitter()

    /// Which of the sender's numbers did not arrive.
    public private(set) var loss = SequenceLoss()

    /// Frames that the sender meant to send and did not, from gaps in its numbers.
    public var missing: UInt64 { loss.missing }

    /// Frames that the sender sent again, which it does for a receiver that asks for one and while its source is silent.
    ///
    /// They count as ``frames``, but neither for ``latency`` nor for ``jitter``: they were presented before.
    public private(set) var repeats = 0

    private var lastTimestamp: UInt64?
    private var lastSequence: UInt64?

    /// Nothing received yet.
    public init() {}

    /// Adds a frame; those of one connection, in their order.
    public mutating func add(_ frame: Frame) {
        add(
            byteCount: frame.jpeg.count,
            timestamp: frame.timestamp,
            sequence: frame.sequence,
            receivedAt: frame.receivedAt,
            transferTime: frame.transferTime
        )
    }

    /// Adds a frame that came in another way than over a connection of this package.
    ///
    /// - Parameters:
    ///   - byteCount: The bytes of its body.
    ///   - timestamp: Its presentation time in nanoseconds, if it has one.
    ///   - sequence: Its number, if it has one.
    ///   - receivedAt: When its last byte came, in nanoseconds.
    ///   - transferTime: Nanoseconds from its first byte to its last.
    public mutating func add(
        byteCount: Int,
        timestamp: UInt64?,
        sequence: UInt64?,
        receivedAt: UInt64,
        transferTime: UInt64
    ) {
        frames += 1
        bytes &+= UInt64(max(0, byteCount))
        transfer.add(nanoseconds: transferTime)
        if let sequence { loss.add(sequence) }
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
