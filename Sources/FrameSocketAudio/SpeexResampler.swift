internal import CSpeexDSP
internal import FrameSocket

/// A resampler of libspeexdsp, destroyed at the end of its life: the only place that calls the library.
///
/// - Note: `@unchecked Sendable` holds because the state has one owner, and the library keeps nothing beside it.
@safe struct SpeexResampler: ~Copyable, @unchecked Sendable {
    /// The most frames that one call takes or gives, far from the 32 bits that the library counts with.
    static let maximumFrames = 1 << 16

    private let state: OpaquePointer

    /// How many frames of the target the library keeps back, because it must see what follows them.
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
                "Audio of \(sourceRate) Hz cannot be converted to \(targetRate) Hz; memory may be exhausted."
            )
        }
        unsafe state = made
        latency = Int(unsafe speex_resampler_get_output_latency(state))
        restart()
    }

    deinit {
        unsafe speex_resampler_destroy(state)
    }

    /// Forgets what came before.
    mutating func reset() {
        unsafe speex_resampler_reset_mem(state)
        restart()
    }

    /// Leaves out the zeros that the filter would begin with, so that the first frame out belongs to the first one in.
    private func restart() {
        unsafe speex_resampler_skip_zeros(state)
    }

    /// Converts until the frames are used up or the room is; without an address for the frames they are silent.
    ///
    /// `speex_resampler_process_interleaved_int`. At most ``maximumFrames`` of each are looked at.
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
