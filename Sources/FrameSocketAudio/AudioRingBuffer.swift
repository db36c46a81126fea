public import FrameSocket
internal import Locking

/// Buffers the audio of one source until it is pulled, in the consumer's sample rate and channels.
///
/// The receiver pushes blocks, and the player or encoder pulls frames, at any time and from any thread. A pull never
/// waits for audio: missing audio is replaced with silence at the end, and counted. The memory is bounded: if there is
/// no room for new frames, the oldest are dropped, and counted.
///
/// A push or a pull holds a lock while it copies or converts, for at most a few microseconds per millisecond of audio.
///
/// ```swift
/// let buffer = AudioRingBuffer()
/// buffer.push(block)                                                // 1,024 frames of 44,100 Hz mono
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

        /// Whether pulls convert to the requested format.
        ///
        /// Default: true. If false, pulls return the source's own format, and state it; the consumer must adapt to it
        /// before it uses the samples.
        public var convertsFormat = true

        /// The quality of the conversion of sample rates.
        ///
        /// Default: `standard`.
        public var quality = AudioResampler.Quality.standard

        /// Creates a configuration with the defaults.
        public init() {}
    }

    /// The maximum of ``Configuration/capacity``: 10 s.
    package static let maximumCapacity: Duration = .seconds(10)

    /// The configuration of a buffer.
    public let configuration: Configuration

    private let content: Locked<AudioBufferContent>

    /// Creates an empty buffer, which adopts the format of the first block.
    public init(configuration: Configuration = Configuration()) {
        self.configuration = configuration
        content = Locked(AudioBufferContent(configuration))
    }

    /// Adds a block.
    ///
    /// A block whose format differs from the previous one changes the format: the block and everything buffered are
    /// skipped, and later blocks are kept again.
    public func push(_ block: AudioBlock) {
        content.withLock { $0.push(block) }
    }

    /// Takes `frames` frames in a format.
    ///
    /// Before the first block, and wherever audio is missing, the frames are silent. If the rates differ, the last
    /// frames wait in the resampler (see ``AudioResampler/latency``) until more follow. A pull in another format than
    /// the previous one begins a new conversion, and discards what waits there.
    ///
    /// If the buffer does not convert, `frames` frames are taken in the source's own rate and channels.
    ///
    /// - Throws: `AudioError` with `invalidFrameCount` if `frames` is negative or exceeds the buffer's capacity; or
    ///   with `resamplerUnavailable`. Missing audio is not an error.
    public func pull(frames: Int, as format: AudioBlock.Format) throws(AudioError) -> Pull {
        try content.withLock { content throws(AudioError) in
            let maximum = configuration.frames(of: content.delivered(for: format))
            guard 0...maximum ~= frames else {
                throw AudioError(.invalidFrameCount, "cannot pull \(frames) frames from a buffer of \(maximum)")
            }
            return try content.pull(frames, as: format)
        }
    }

    /// Discards the buffered frames, as if skipped at a format change; the statistics continue.
    public func removeAll() {
        content.withLock { $0.removeAll() }
    }

    /// The source's format; nil before the first block.
    package var sourceFormat: AudioBlock.Format? { content.withLock { $0.format } }

    /// The state of the audio flow.
    public var state: State { content.withLock { $0.state } }

    /// The duration of buffered audio.
    public var level: Duration { Duration(nanoseconds: content.withLock { $0.level }) }

    /// The statistics so far.
    public var statistics: Statistics { content.withLock { $0.statistics } }
}

extension AudioRingBuffer.Configuration {
    /// Returns the maximum number of buffered frames in a format.
    func frames(of format: AudioBlock.Format) -> Int {
        max(1, format.frameCount(in: min(capacity, AudioRingBuffer.maximumCapacity)))
    }
}

extension AudioRingBuffer {
    /// The state of the audio flow from a source to its consumer.
    public enum State: Sendable, Hashable {
        /// No audio other than silence has been pulled yet.
        case idle
        /// The last pull got every frame that it requested.
        case flowing
        /// Audio ran out, and silence replaces it.
        case starving
    }
}
