public import TurboJPEG

/// What a ``SampleUploader`` has done so far.
public struct SendingStatistics: Sendable, Hashable {
    /// Frames handed in.
    public internal(set) var offered = 0

    /// Frames that the system has taken whole.
    public internal(set) var sent = 0

    /// Bytes of JPEG in them.
    public internal(set) var bytes: UInt64 = 0

    /// Frames that were not sent, by cause.
    public internal(set) var drops: [DropCause: Int] = [:]

    /// From being handed in to the start of encoding.
    public internal(set) var queueAge = TimeSummary()

    /// Scaling and encoding.
    public internal(set) var encoding = TimeSummary()

    /// From the first byte written to the last.
    public internal(set) var transfer = TimeSummary()

    /// The last failure to encode.
    public internal(set) var lastEncodingError: TurboJPEGError?

    /// Frames that were not sent.
    public var dropped: Int { drops.values.reduce(0, +) }

    /// Frames that wait or are under way.
    public var underWay: Int { offered - sent - dropped }

    mutating func drop(_ cause: DropCause) {
        drops[cause, default: 0] += 1
    }
}
