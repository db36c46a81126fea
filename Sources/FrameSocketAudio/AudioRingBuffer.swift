public import FrameSocket
internal import Locking

/// Keeps the audio of one source until it is pulled, in the rate and channels that the consumer wants.
///
/// Whoever receives pushes blocks, and whoever plays or encodes pulls frames; both at any time, from any thread. A pull
/// never waits for audio: what is not there is silence at the end of what is, and counted. The memory is bounded: if
/// there is no room for what comes, the oldest frames give way, and are counted.
///
/// A push or a pull holds a lock while it copies or converts, a few microseconds for each millisecond of audio at most.
///
///     let buffer = AudioRingBuffer()
///     buffer.push(block)                                                // 1,024 frames of 44,100 Hz mono
///     let pull = try buffer.pull(frames: 480, rate: 48_000, channels: 2)  // always 480 frames of that
public final class AudioRingBuffer: Sendable {
    /// How much is kept, and what is done to it.
    public struct Configuration: Sendable, Hashable {
        /// How much audio is kept at most, in nanoseconds.
        ///
        /// Default: 500 ms. At least one frame is kept, and at most ``maximumCapacity``.
        public var capacity: UInt64 = 500_000_000

        /// How much audio must wait before any is given out, at first and after it ran out, in nanoseconds.
        ///
        /// Default: 0, give out what is there. Where blocks come late now and then, a start with this much in hand
        /// makes one gap of what would be many. Above ``capacity`` it is the same as that.
        public var startLevel: UInt64 = 0

        /// Whether pulls give the format that is asked for.
        ///
        /// Default: true. Where false, they give the source's own, and say so; a consumer then sets itself up for it
        /// before it uses what it gets.
        public var convertsFormat = true

        /// How well sample rates are converted.
        ///
        /// Default: `standard`.
        public var quality = AudioResampler.Quality.standard

        /// The defaults.
        public init() {}
    }

    /// The most that ``Configuration/capacity`` can be: 10 s, in nanoseconds.
    public static let maximumCapacity: UInt64 = 10_000_000_000

    /// How much is kept, and what is done to it.
    public let configuration: Configuration

    private let content: Locked<AudioBufferContent>

    /// An empty buffer, which takes the format of the first block that comes.
    public init(configuration: Configuration = Configuration()) {
        self.configuration = configuration
        content = Locked(AudioBufferContent(configuration))
    }

    /// Takes a block in.
    ///
    /// A block of another format than the one before changes the format: it and all that waits are skipped, and what
    /// follows is kept again.
    public func push(_ block: AudioBlock) {
        content.withLock { $0.push(block) }
    }

    /// Takes out `frames` frames of the given rate and channels.
    ///
    /// Before the first block, and wherever audio is missing, the frames are silent. At differing rates the last
    /// frames that came wait in the resampler (see ``AudioResampler/latency``) until more follow. A pull of another
    /// format than the one before begins a new conversion, and gives up what waits there.
    ///
    /// Where the buffer does not convert, `frames` frames of the source's own rate and channels are taken out.
    ///
    /// - Throws: `AudioError` with `unsupportedFormat`; with `invalidFrameCount` if `frames` is below 0, or is more
    ///   than the buffer's capacity; with `resamplerUnavailable`. Missing audio is not an error.
    public func pull(frames: Int, rate: Int, channels: Int) throws(AudioError) -> AudioPull {
        try pull(frames: frames, as: AudioFormat(sampleRate: rate, channels: channels))
    }

    /// Takes out `frames` frames of a format.
    ///
    /// - Throws: `AudioError` with `invalidFrameCount` if `frames` is below 0, or is more than the buffer's
    ///   capacity; with `resamplerUnavailable`. Missing audio is not an error.
    public func pull(frames: Int, as format: AudioFormat) throws(AudioError) -> AudioPull {
        let maximum = configuration.frames(of: format)
        guard 0...maximum ~= frames else {
            throw AudioError(.invalidFrameCount, "\(frames) frames cannot be pulled from a buffer of \(maximum).")
        }
        return try content.withLock { content throws(AudioError) in try content.pull(frames, as: format) }
    }

    /// Forgets what waits, as if it had been skipped at a change of format; counts go on.
    public func removeAll() {
        content.withLock { $0.removeAll() }
    }

    /// What the source sends; nil before anything came.
    public var sourceFormat: AudioFormat? { content.withLock { $0.format } }

    /// Whether audio flows.
    public var state: AudioBufferState { content.withLock { $0.state } }

    /// How much audio waits, in nanoseconds.
    public var level: UInt64 { content.withLock { $0.level } }

    /// What has been done so far.
    public var statistics: AudioBufferStatistics { content.withLock { $0.statistics } }
}

extension AudioRingBuffer.Configuration {
    /// How many frames of a format are kept at most.
    func frames(of format: AudioFormat) -> Int {
        max(1, format.frames(inNanoseconds: min(capacity, AudioRingBuffer.maximumCapacity)))
    }
}
