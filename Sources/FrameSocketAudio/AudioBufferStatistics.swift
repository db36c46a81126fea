/// What an ``AudioRingBuffer`` has done so far.
///
/// Every frame pushed is accounted for: `pushedFrames` is the sum of `deliveredFrames`, `bufferedFrames`,
/// `overrunFrames` and `skippedFrames`. These are frames of the source, and `silentFrames` are those of the consumer.
public struct AudioBufferStatistics: Sendable, Hashable {
    /// Frames that came.
    public internal(set) var pushedFrames = 0

    /// Frames that were taken out by a pull, those that wait in the resampler included.
    public internal(set) var deliveredFrames = 0

    /// Frames that wait.
    public internal(set) var bufferedFrames = 0

    /// Pushes that did not find enough room.
    public internal(set) var overruns = 0

    /// Frames that gave way to newer ones.
    public internal(set) var overrunFrames = 0

    /// Pulls at which audio ran out after it had flowed.
    public internal(set) var underruns = 0

    /// Frames of silence that were given out since the first audio was.
    public internal(set) var silentFrames = 0

    /// Changes of the source's format.
    public internal(set) var formatChanges = 0

    /// Frames that a change of format took away: those that waited, and the first block of the new format.
    public internal(set) var skippedFrames = 0

    /// Nothing done yet.
    public init() {}
}
