extension AudioRingBuffer {
    /// Statistics of an ``AudioRingBuffer``.
    ///
    /// Every pushed frame is accounted for: `pushedFrames` is the sum of `deliveredFrames`, `bufferedFrames`,
    /// `overrunFrames` and `skippedFrames`. These are frames of the source; `silentFrames` are frames of the consumer.
    public struct Statistics: Sendable, Hashable {
        /// The number of pushed frames.
        package internal(set) var pushedFrames = 0

        /// The number of frames taken out by pulls, including those that wait in the resampler.
        package internal(set) var deliveredFrames = 0

        /// The number of buffered frames.
        package internal(set) var bufferedFrames = 0

        /// The number of pushes that did not find enough room.
        package internal(set) var overruns = 0

        /// The number of frames that were replaced by newer ones.
        package internal(set) var overrunFrames = 0

        /// The number of pulls at which audio ran out: after it had been flowing, or within the pull.
        package internal(set) var underruns = 0

        /// The number of silent frames returned since the first audio.
        public internal(set) var silentFrames = 0

        /// The number of changes of the source's format.
        package internal(set) var formatChanges = 0

        /// The number of frames lost to format changes: buffered frames, and the first block of the new format.
        package internal(set) var skippedFrames = 0

        /// Creates empty statistics.
        package init() {}
    }
}
