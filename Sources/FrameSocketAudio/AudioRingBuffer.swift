public import FrameSocket
internal import Locking

/// Buffers the audio of one source until it is pulled, in the consumer's sample rate and channels.
///
/// The receiver pushes blocks, and the player or encoder pulls frames, at any time and from any thread. A pull never
/// waits for audio: missing audio is replaced with silence at the end, and counted. The memory is bounded: if there is
/// no room for new frames, the oldest are dropped.
///
/// A push or a pull holds a lock while it copies or converts, for at most a few microseconds per millisecond of audio.
///
/// ```swift
/// let buffer = AudioRingBuffer()
/// try buffer.push(block)                                            // 1,024 frames of 44,100 Hz mono
/// let format = try AudioBlock.Format(sampleRate: 48_000, channels: 2)
/// let pull = try buffer.pull(frames: 480, as: format)               // always 480 frames of that
/// ```
public final class AudioRingBuffer: Sendable {
    /// The configuration of a buffer.
    public struct Configuration: Sendable, Hashable {
        /// The maximum duration of buffered audio.
        ///
        /// Default: 500 ms. At least one frame is kept, and at most `maximumCapacity`.
        public var capacity: Duration = .milliseconds(500)

        /// The duration of audio that must be buffered before any is returned, initially and after audio ran out.
        ///
        /// Default: zero, which returns whatever is buffered. If blocks are occasionally late, a start level turns many
        /// gaps into one. Values above ``capacity`` count as ``capacity``.
        public var startLevel: Duration = .zero

        /// Creates a configuration with the defaults.
        public init() {}
    }

    /// The maximum of ``Configuration/capacity``: 10 s.
    package static let maximumCapacity: Duration = .seconds(10)

    private let content: Locked<AudioBufferContent>

    /// Creates an empty buffer, which adopts the format of the first block.
    public init(configuration: Configuration = Configuration()) {
        content = Locked(AudioBufferContent(configuration))
    }

    /// Adds a block.
    ///
    /// A block whose format differs from the previous one changes the format: the block and everything buffered are
    /// skipped, and later blocks are kept again.
    ///
    /// - Throws: `AudioError` with `unsupportedFormat` for more than two channels, which a received block may have.
    public func push(_ block: AudioBlock) throws(AudioError) {
        guard block.format.isSupported else {
            throw AudioError(.unsupportedFormat, "audio of \(block.format) cannot be converted: expected one or two")
        }
        content.withLock { $0.push(block) }
    }

    /// Takes `frames` frames in a format.
    ///
    /// Before the first block, and wherever audio is missing, the frames are silent. If the rates differ, the last
    /// frames wait in the filter, less than a millisecond at the rates of screen shares, until more follow. A pull in
    /// another format than the previous one begins a new conversion, and discards what waits there.
    ///
    /// - Throws: `AudioError` with `invalidFrameCount` if `frames` is negative or exceeds the buffer's capacity; or
    ///   with `resamplerUnavailable`. Missing audio is not an error.
    public func pull(frames: Int, as format: AudioBlock.Format) throws(AudioError) -> Pull {
        try content.withLock { content throws(AudioError) in try content.pull(frames, as: format) }
    }

    /// The number of frames that wait, in the source's format.
    package var bufferedFrames: Int { content.withLock { $0.bufferedFrames } }
}

extension AudioRingBuffer {
    /// The result of a pull from an ``AudioRingBuffer``: always the requested number of frames, including silence.
    public struct Pull: Sendable {
        /// The interleaved samples: audio first, then ``silentFrames`` frames of zeros.
        public let samples: [Int16]

        /// The time at which the first frame was captured or is to be played, in nanoseconds of the sender's clock.
        ///
        /// Nil if the source did not state it, or if there is only silence.
        public let timestamp: UInt64?

        /// The number of silent frames at the end, which replace missing audio.
        public let silentFrames: Int
    }
}
