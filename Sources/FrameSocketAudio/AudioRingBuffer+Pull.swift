public import FrameSocket

extension AudioRingBuffer {
    /// The result of a pull from an ``AudioRingBuffer``: always the requested number of frames, including silence.
    public struct Pull: Sendable, Hashable {
        /// The format of ``samples``.
        ///
        /// It differs from the requested format only if the buffer does not convert.
        public let format: AudioBlock.Format

        /// The source's format; nil before the first block.
        package let sourceFormat: AudioBlock.Format?

        /// The interleaved samples: audio first, then ``silentFrames`` frames of zeros.
        public let samples: [Int16]

        /// The time at which the first frame was captured or is to be played, in nanoseconds of the sender's clock.
        ///
        /// Nil if the source did not state it, or if there is only silence.
        public let timestamp: UInt64?

        /// The number of silent frames at the end, which replace missing audio.
        public let silentFrames: Int

        /// The state of the audio flow.
        public let state: State

        /// The number of frames, including silence.
        public var frameCount: Int { samples.count / format.channels }
    }
}
