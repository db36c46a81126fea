internal import FrameSocket

/// The state that an ``AudioRingBuffer`` protects with its lock: the frames, their times, and the current conversion.
struct AudioBufferContent: ~Copyable {
    private let configuration: AudioRingBuffer.Configuration

    /// The source's format, and its frames.
    private var source: Source?

    /// The conversion to the format of the last pull; nil before the first, and if none is needed.
    private var resampler: AudioResampler?

    /// Whether nothing is returned until enough is buffered.
    private var isFilling = true

    private struct Source {
        let format: AudioBlock.Format
        var ring: SampleRing
        var times: TimeMarks

        /// The number of frames before the oldest buffered one.
        var position = 0

        init(_ format: AudioBlock.Format, capacity: Int) {
            self.format = format
            ring = SampleRing(capacity: capacity, channels: format.channels)
            times = TimeMarks(format)
        }

        mutating func advance(_ frames: Int) {
            position += frames
            times.forget(before: position)
        }
    }

    init(_ configuration: AudioRingBuffer.Configuration) {
        self.configuration = configuration
    }

    private var format: AudioBlock.Format? { source?.format }

    var bufferedFrames: Int { source?.ring.count ?? 0 }

    mutating func push(_ block: AudioBlock) {
        guard block.frameCount > 0 else { return }
        if let format, format != block.format {
            // Whatever is buffered is skipped, and the block with it.
            source = Source(block.format, capacity: capacity(in: block.format))
            resampler = nil
            isFilling = true
            return
        }
        var source = self.source.take() ?? Source(block.format, capacity: capacity(in: block.format))
        source.times.note(block.timestamp, at: source.position + source.ring.count)
        let samples = block.samples[...]
        source.advance(source.ring.write(samples.span))
        self.source = source
    }

    /// The maximum number of buffered frames in a format.
    private func capacity(in format: AudioBlock.Format) -> Int {
        max(1, format.frameCount(in: min(configuration.capacity, AudioRingBuffer.maximumCapacity)))
    }

    mutating func pull(_ frames: Int, as format: AudioBlock.Format) throws(AudioError) -> AudioRingBuffer.Pull {
        let maximum = capacity(in: format)
        guard 0...maximum ~= frames else {
            throw AudioError(.invalidFrameCount, "cannot pull \(frames) frames from a buffer of \(maximum)")
        }
        try prepare(for: format)
        var time: UInt64?
        var audible = 0
        let samples = [Int16](capacity: frames * format.channels) { output in
            if isReady {
                time = nextTime
                convert(into: &output)
                audible = output.count / format.channels
            }
            output.append(repeating: 0, count: output.freeCapacity)
        }
        isFilling = audible < frames || (frames == 0 && isFilling)
        return AudioRingBuffer.Pull(
            samples: samples,
            timestamp: audible > 0 ? time : nil,
            silentFrames: frames - audible
        )
    }

    /// Begins another conversion if the current one is not to `target`.
    private mutating func prepare(for target: AudioBlock.Format) throws(AudioError) {
        guard let format else { return }
        if let agreed = resampler?.target, agreed == target { return }
        resampler = try AudioResampler(from: format, to: target)
    }

    /// Whether audio may be returned.
    private var isReady: Bool {
        guard let source else { return false }
        guard isFilling else { return true }
        let startLevel = source.format.frameCount(in: min(configuration.startLevel, configuration.capacity))
        return source.ring.count >= min(startLevel, source.ring.capacity)
    }

    /// The time of the next converted frame.
    private var nextTime: UInt64? {
        let pending =
            switch resampler {
            case .some(let resampler): resampler.pendingTime
            case nil: 0 as UInt64
            }
        return source.flatMap { $0.times.time(at: $0.position) }.map { $0 - min($0, pending) }
    }

    /// Takes frames until there is no more room, or no more frames.
    private mutating func convert(into output: inout OutputSpan<Int16>) {
        guard var source = self.source.take() else { return }
        var read = 0
        repeat {
            read = source.ring.withOldest { resampler?.convert($0, into: &output) ?? 0 }
            source.ring.drop(read)
            source.advance(read)
        } while read > 0
        self.source = source
    }
}
