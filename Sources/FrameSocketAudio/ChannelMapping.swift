/// Conversions between mono and stereo, on interleaved samples.
enum ChannelMapping {
    /// Replaces every stereo frame with its average, rounded down.
    ///
    /// The sum of two samples needs 17 bits and its half 16: nothing is ever clipped.
    @unsafe static func average(
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
    @unsafe static func double(_ samples: UnsafeMutablePointer<Int16>, frames: Int) {
        // From the end, because writes go beyond what is still to be read.
        for frame in (0..<frames).reversed() {
            let sample = unsafe samples[frame]
            unsafe samples[2 * frame] = sample
            unsafe samples[2 * frame + 1] = sample
        }
    }
}
