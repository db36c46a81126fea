public import FrameSocket

/// What an ``AudioRingBuffer`` gave out: always as many frames as were asked for, silence included.
public struct AudioPull: Sendable, Hashable {
    /// The format of ``samples``.
    ///
    /// Differs from what was asked for only if the buffer does not convert.
    public let format: AudioFormat

    /// What the source sends; nil before anything came.
    public let sourceFormat: AudioFormat?

    /// The samples, interleaved: audio first, then ``silentFrames`` of zeros.
    public let samples: [Int16]

    /// When the first frame was captured or is to be heard, in nanoseconds on the sender's clock.
    ///
    /// Nil if the source did not say, or if all is silence.
    public let presentationTime: UInt64?

    /// How many frames at the end are silence, because no audio was there.
    public let silentFrames: Int

    /// Whether audio flows.
    public let state: AudioBufferState

    /// How many frames there are, silence included.
    public var frameCount: Int { samples.count / format.channels }
}
