internal import CSpeexDSP
internal import FrameSocket

/// An owned resampler of libspeexdsp; only this type calls the library.
///
/// - Note: `@unchecked Sendable` holds because the state has one owner, and the library keeps nothing else.
@safe struct SpeexResampler: ~Copyable, @unchecked Sendable {
    /// The maximum number of frames per call, far below the library's 32-bit counts.
    private static let maximumFrames = 1 << 16

    /// Of 0 to 10: as good as 16 bits up to 19 kHz.
    private static let quality: Int32 = 5

    private let state: OpaquePointer

    /// `speex_resampler_init`, for interleaved samples.
    init(channels: Int, from sourceRate: Int, to targetRate: Int) throws(AudioError) {
        let made = unsafe speex_resampler_init(
            UInt32(channels),
            UInt32(sourceRate),
            UInt32(targetRate),
            Self.quality,
            nil
        )
        guard let made = unsafe made else {
            throw AudioError(
                .resamplerUnavailable,
                "audio of \(sourceRate) Hz cannot be converted to \(targetRate) Hz; memory may be exhausted"
            )
        }
        unsafe state = made
        // The filter would begin with zeros, and the first output frame would not correspond to the first input frame.
        unsafe speex_resampler_skip_zeros(state)
    }

    deinit {
        unsafe speex_resampler_destroy(state)
    }

    /// Converts until the frames or the room are used up.
    ///
    /// Calls `speex_resampler_process_interleaved_int` with at most `maximumFrames` of each.
    @unsafe mutating func process(
        _ source: UnsafePointer<Int16>,
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
