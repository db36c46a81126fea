internal import CSpeexDSP
internal import FrameSocket

/// An owned resampler of libspeexdsp; only this type calls the library.
///
/// - Note: `@unchecked Sendable` holds because the state has one owner, and the library keeps nothing else.
@safe struct SpeexResampler: ~Copyable, @unchecked Sendable {
    /// The maximum number of frames per call, far below the library's 32-bit counts.
    static let maximumFrames = 1 << 16

    private let state: OpaquePointer
    private let channels: Int

    /// The number of target frames that the library holds back, because it needs what follows them.
    let latency: Int

    /// `speex_resampler_init`, for interleaved samples; `quality` is 0 to 10.
    init(channels: Int, from sourceRate: Int, to targetRate: Int, quality: Int32) throws(AudioError) {
        let made = unsafe speex_resampler_init(
            UInt32(channels),
            UInt32(sourceRate),
            UInt32(targetRate),
            quality,
            nil
        )
        guard let made = unsafe made else {
            throw AudioError(
                .resamplerUnavailable,
                "audio of \(sourceRate) Hz cannot be converted to \(targetRate) Hz; memory may be exhausted"
            )
        }
        unsafe state = made
        self.channels = channels
        latency = Int(unsafe speex_resampler_get_output_latency(state))
        restart()
    }

    deinit {
        unsafe speex_resampler_destroy(state)
    }

    /// Discards the state.
    ///
    /// `speex_resampler_reset_mem` forgets the position, and the samples of the first channel only (libspeexdsp 1.2.1): a
    /// whole filter of silence removes those of the others.
    mutating func reset() {
        unsafe speex_resampler_reset_mem(state)
        var silence = 2 * Int(unsafe speex_resampler_get_input_latency(state)) + 1
        let room = 512
        unsafe withUnsafeTemporaryAllocation(of: Int16.self, capacity: room * channels) { sink in
            guard let sink = sink.baseAddress else { return }
            while silence > 0 {
                let step = unsafe process(nil, frames: silence, into: sink, room: room)
                guard step.read + step.written > 0 else { return }
                silence -= step.read
            }
        }
        unsafe speex_resampler_reset_mem(state)
        restart()
    }

    /// Skips the zeros with which the filter would begin, so that the first output frame corresponds to the first input
    /// frame.
    private func restart() {
        unsafe speex_resampler_skip_zeros(state)
    }

    /// Converts until the frames or the room are used up; frames without an address are silent.
    ///
    /// Calls `speex_resampler_process_interleaved_int` with at most ``maximumFrames`` of each.
    @unsafe mutating func process(
        _ source: UnsafePointer<Int16>?,
        frames: Int,
        into target: UnsafeMutablePointer<Int16>,
        room: Int
    ) -> (read: Int, written: Int) {
        var read = UInt32(min(frames, Self.maximumFrames))
        var written = UInt32(min(room, Self.maximumFrames))
        // Fails only if source and target overlap, or if there was no memory for the filter: not after `init`.
        unsafe speex_resampler_process_interleaved_int(state, source, &read, target, &written)
        return (Int(read), Int(written))
    }
}
