public import TurboJPEG

/// What a ``SampleUploader`` has done so far.
public struct SendingStatistics: Sendable, Hashable {
    /// Frames offered.
    public internal(set) var offered = 0

    /// Frames that the system has accepted completely, each counted once.
    public internal(set) var sent = 0

    /// Bytes of JPEG in them.
    public internal(set) var bytes: UInt64 = 0

    /// How many times a frame that had been sent was sent again: to another receiver, to one that asked for it, or because
    /// the source was silent.
    public internal(set) var repeats = 0

    /// Frames that were not sent, by cause.
    ///
    /// A frame that is deferred counts here until it is sent after all.
    public internal(set) var drops: [DropCause: Int] = [:]

    /// From the offer to the start of encoding, of frames that were not deferred.
    public internal(set) var queueAge = TimeSummary()

    /// Scaling and encoding.
    public internal(set) var encoding = TimeSummary()

    /// From the first byte written to the last.
    public internal(set) var transfer = TimeSummary()

    /// The last failure to encode.
    public internal(set) var lastEncodingError: TurboJPEGError?

    /// Frames that were not sent.
    public var dropped: Int { drops.values.reduce(0, +) }

    /// Frames that wait for their turn or are under way.
    public var underWay: Int { offered - sent - dropped }

    mutating func drop(_ cause: DropCause) {
        drops[cause, default: 0] += 1
    }

    /// Takes back that a frame was dropped, now that it is sent after all.
    mutating func takeBack(_ cause: DropCause) {
        guard let count = drops[cause] else { return }
        drops[cause] = count > 1 ? count - 1 : nil
    }
}
