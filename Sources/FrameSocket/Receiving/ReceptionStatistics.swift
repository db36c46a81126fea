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

    /// From the presentation time to the last byte, where the sender states one and its clock is this machine's.
    public private(set) var latency = TimeSummary()

    /// Frames that the sender counted and did not send, from gaps in its numbers.
    public private(set) var missing: UInt64 = 0

    private var lastSequence: UInt64?

    /// Nothing received yet.
    public init() {}

    /// Adds a frame; those of one connection, in their order.
    public mutating func add(_ frame: Frame) {
        frames += 1
        bytes &+= UInt64(frame.jpeg.count)
        transfer.add(nanoseconds: frame.transferTime)
        if let timestamp = frame.timestamp, timestamp <= frame.receivedAt {
            latency.add(nanoseconds: frame.receivedAt - timestamp)
        }
        if let sequence = frame.sequence {
            if let lastSequence, sequence > lastSequence { missing &+= sequence - lastSequence - 1 }
            lastSequence = sequence
        }
    }
}
