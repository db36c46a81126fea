internal import FrameSocket

/// Converts a stream of audio to another sample rate and number of channels.
///
/// The resampler keeps state between calls, so the pieces of a stream are converted as if they were one. Mono becomes
/// stereo by duplication, and stereo becomes mono by averaging (rounded down). If only the channels differ, or nothing
/// does, no filter is used and the samples are exact.
///
/// Output frames correspond to the times of the input frames: the samples are not delayed. But the filter needs what
/// follows a frame before it can output the frame, so the last ones wait for more input: 44 frames from 44,100 to
/// 48,000 Hz.
struct AudioResampler: ~Copyable {
    /// The output format.
    let target: AudioBlock.Format

    private let source: AudioBlock.Format

    /// Nil if the rates are equal.
    private var filter: SpeexResampler?

    /// The lead of the output over the input, in units of 1 / (source rate x target rate) seconds.
    ///
    /// It is negative by what the filter holds back. A difference rather than a pair of counts, it never grows.
    private var lead = 0

    /// Creates a converter between two formats of one or two channels.
    ///
    /// - Throws: `AudioError` with `resamplerUnavailable` if there is no memory for the filter.
    init(from source: AudioBlock.Format, to target: AudioBlock.Format) throws(AudioError) {
        self.source = source
        self.target = target
        guard source.sampleRate != target.sampleRate else {
            filter = nil
            return
        }
        // As few channels as possible: averaging happens before the filter, duplication after it.
        filter = try SpeexResampler(
            channels: min(source.channels, target.channels),
            from: source.sampleRate,
            to: target.sampleRate
        )
    }

    /// The number of target frames that wait in the filter.
    var pendingFrames: Int {
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
    mutating func convert(_ input: Span<Int16>, into output: inout OutputSpan<Int16>) -> Int {
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
            unsafe Self.average(input, frames: count, into: output)
            return (count, count)
        }
        let count = min(frames, Self.averagedFrames)
        return unsafe withUnsafeTemporaryAllocation(of: Int16.self, capacity: count) { averages in
            guard let base = averages.baseAddress else { return (0, 0) }
            unsafe Self.average(input, frames: count, into: base)
            return unsafe process(base, frames: count, into: output, room: room)
        }
    }

    /// The number of frames averaged at once before the filter: 2 kB on the stack.
    private static let averagedFrames = 1_024

    /// Converts one step after the averaging.
    private mutating func process(
        _ input: UnsafePointer<Int16>,
        frames: Int,
        into output: UnsafeMutablePointer<Int16>,
        room: Int
    ) -> (read: Int, written: Int) {
        let channels = min(source.channels, target.channels)
        let step: (read: Int, written: Int)
        if filter != nil {
            step = unsafe filter?.process(input, frames: frames, into: output, room: room) ?? (0, 0)
        } else {
            step = (min(frames, room), min(frames, room))
            unsafe output.update(from: input, count: step.read * channels)
        }
        if target.channels > channels { unsafe Self.double(output, frames: step.written) }
        return step
    }

    /// Replaces every stereo frame with its average, rounded down.
    ///
    /// The sum of two samples needs 17 bits and its half 16: nothing is ever clipped.
    @unsafe private static func average(
        _ source: UnsafePointer<Int16>,
        frames: Int,
        into target: UnsafeMutablePointer<Int16>
    ) {
        for frame in 0..<frames {
            let sum = unsafe Int32(source[2 * frame]) &+ Int32(source[2 * frame + 1])
            unsafe target[frame] = Int16(truncatingIfNeeded: sum >> 1)
        }
    }

    /// Duplicates every sample of the mono frames at `samples`, in place.
    @unsafe private static func double(_ samples: UnsafeMutablePointer<Int16>, frames: Int) {
        // From the end, because writes go beyond what is still to be read.
        for frame in (0..<frames).reversed() {
            let sample = unsafe samples[frame]
            unsafe samples[2 * frame] = sample
            unsafe samples[2 * frame + 1] = sample
        }
    }
}
