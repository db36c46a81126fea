public import FrameSocket

/// Converts a stream of audio to another sample rate and number of channels.
///
/// The resampler keeps state between blocks, so they are converted as if they were one piece. Mono becomes stereo by
/// duplication, and stereo becomes mono by averaging (rounded down). If only the channels differ, or nothing does, no
/// filter is used and the samples are exact.
///
/// Output frames correspond to the times of the input frames: the samples are not delayed. But the filter needs what
/// follows a frame before it can output the frame, so the last ``latency`` frames wait for more input, or for
/// ``flush()``.
///
/// The filter is that of libspeexdsp.
///
/// Thread safety: a value that is not copied: it has one owner, which may move it to another thread.
public struct AudioResampler: ~Copyable, Sendable {
    /// The quality of the conversion of sample rates, and its cost.
    ///
    /// The figures are for 44,100 to 48,000 Hz, stereo, on one core of a server.
    public enum Quality: Sendable, Hashable, CaseIterable {
        /// For speech: 80 dB at 19 kHz, 26 frames of latency, 210 times as fast as the audio.
        case speech
        /// As good as 16 bits up to 19 kHz: 94 dB, 44 frames of latency, 160 times as fast as the audio.
        case standard
        /// The narrowest transition at the end of the band: 139 frames of latency, 30 times as fast as the audio.
        case best

        var speexQuality: Int32 {
            switch self {
            case .speech: 3
            case .standard: 5
            case .best: 10
            }
        }
    }

    /// The input format.
    public let source: AudioBlock.Format

    /// The output format.
    public let target: AudioBlock.Format

    /// The number of target frames, plus or minus one, that are held back until those that follow are known.
    ///
    /// 0 if the rates are equal.
    public let latency: Int

    /// Nil if the rates are equal.
    private var filter: SpeexResampler?

    /// The lead of the output over the input, in units of 1 / (source rate x target rate) seconds.
    ///
    /// It is negative by what the filter holds back. A difference rather than a pair of counts, it never grows.
    private var lead = 0

    /// Creates a converter between two formats.
    ///
    /// Default quality: `standard`.
    ///
    /// - Throws: `AudioError` with `resamplerUnavailable` if there is no memory for the filter.
    public init(
        from source: AudioBlock.Format,
        to target: AudioBlock.Format,
        quality: Quality = .standard
    ) throws(AudioError) {
        self.source = source
        self.target = target
        guard source.sampleRate != target.sampleRate else {
            filter = nil
            latency = 0
            return
        }
        // As few channels as possible: averaging happens before the filter, duplication after it.
        let made = try SpeexResampler(
            channels: min(source.channels, target.channels),
            from: source.sampleRate,
            to: target.sampleRate,
            quality: quality.speexQuality
        )
        latency = made.latency
        filter = consume made
    }

    /// The number of target frames that wait in the filter: what ``flush()`` would return.
    package var pendingFrames: Int {
        lead < 0 ? (source.sampleRate - 1 - lead) / source.sampleRate : 0
    }

    /// The time from the next output frame to the next input frame, in nanoseconds.
    var pendingTime: UInt64 {
        guard lead < 0 else { return 0 }
        // A filter's length times a rate: at most 1e9 units, and 2e18 with the factor.
        return UInt64(-lead) * 1_000_000_000 / UInt64(source.sampleRate * target.sampleRate)
    }

    /// Converts frames until they are consumed or there is no more room, and returns the number consumed.
    ///
    /// Samples after the last whole frame are ignored, and so is room after the last whole frame. Does not allocate.
    @discardableResult
    public mutating func convert(_ input: Span<Int16>, into output: inout OutputSpan<Int16>) -> Int {
        let frames = input.count / source.channels
        var done = 0
        unsafe input.withUnsafeBufferPointer { input in
            unsafe output.withUnsafeMutableBufferPointer { output, count in
                guard let from = input.baseAddress, let base = output.baseAddress else { return }
                while true {
                    let room = (output.count - count) / target.channels
                    let step = unsafe convert(
                        from + done * source.channels,
                        frames: frames - done,
                        into: base + count,
                        room: room
                    )
                    lead += step.written * source.sampleRate - step.read * target.sampleRate
                    done += step.read
                    count += step.written * target.channels
                    if step == (0, 0) { return }
                }
            }
        }
        return done
    }

    /// Converts a block; the result is shorter by what the filter holds back, and its timestamp is that of its first
    /// frame.
    ///
    /// - Throws: `AudioError` with `formatMismatch` if the block is not of the ``source`` format.
    public mutating func convert(_ block: AudioBlock) throws(AudioError) -> AudioBlock {
        guard block.format == source else {
            throw AudioError(.formatMismatch, "the block is \(block.format), but the converter expects \(source)")
        }
        let time = block.timestamp.map { $0 - min($0, pendingTime) }
        let frames = max(0, block.frameCount * target.sampleRate - lead) / source.sampleRate + 1
        let input = block.samples[...]
        let samples = [Int16](capacity: frames * target.channels) { output in
            convert(input.span, into: &output)
        }
        return AudioBlock(format: target, timestamp: time, wholeFrames: samples)
    }

    /// Returns the waiting frames, as if silence followed, and begins a new stream.
    ///
    /// With these frames the output is as long as the input, rounded up.
    public mutating func flush() -> AudioBlock {
        let pending = pendingFrames
        let samples = [Int16](capacity: pending * target.channels) { output in
            unsafe output.withUnsafeMutableBufferPointer { output, count in
                guard let base = output.baseAddress else { return }
                var written = 0
                while written < pending {
                    let step = unsafe process(
                        nil,
                        frames: SpeexResampler.maximumFrames,
                        into: base + written * target.channels,
                        room: pending - written
                    )
                    guard step.written > 0 else { break }
                    written += step.written
                }
                count = written * target.channels
            }
        }
        reset()
        return AudioBlock(format: target, timestamp: nil, wholeFrames: samples)
    }

    /// Discards the state, for a new stream.
    public mutating func reset() {
        filter?.reset()
        lead = 0
    }

    /// Converts as many frames as possible in one step; reads and writes nothing at the end.
    private mutating func convert(
        _ input: UnsafePointer<Int16>,
        frames: Int,
        into output: UnsafeMutablePointer<Int16>,
        room: Int
    ) -> (read: Int, written: Int) {
        guard frames > 0, room > 0 else { return (0, 0) }
        guard source.channels > target.channels else {
            return unsafe process(input, frames: frames, into: output, room: room)
        }
        guard filter != nil else {
            let count = min(frames, room)
            unsafe ChannelMapping.average(input, frames: count, into: output)
            return (count, count)
        }
        let count = min(frames, Self.averagedFrames)
        return unsafe withUnsafeTemporaryAllocation(of: Int16.self, capacity: count) { averages in
            guard let base = averages.baseAddress else { return (0, 0) }
            unsafe ChannelMapping.average(input, frames: count, into: base)
            return unsafe process(base, frames: count, into: output, room: room)
        }
    }

    /// The number of frames averaged at once before the filter: 2 kB on the stack.
    private static let averagedFrames = 1_024

    /// Converts one step after the averaging; frames without an address are silent.
    private mutating func process(
        _ input: UnsafePointer<Int16>?,
        frames: Int,
        into output: UnsafeMutablePointer<Int16>,
        room: Int
    ) -> (read: Int, written: Int) {
        let channels = min(source.channels, target.channels)
        let step: (read: Int, written: Int)
        if filter != nil {
            step = unsafe filter?.process(input, frames: frames, into: output, room: room) ?? (0, 0)
        } else if let input = unsafe input {
            step = (min(frames, room), min(frames, room))
            unsafe output.update(from: input, count: step.read * channels)
        } else {
            step = (0, 0)
        }
        if target.channels > channels { unsafe ChannelMapping.double(output, frames: step.written) }
        return step
    }
}
