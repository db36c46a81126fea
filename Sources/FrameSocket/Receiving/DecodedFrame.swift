internal import FrameTransport
public import FrameWire
public import TurboJPEG

/// A decoded frame: its image and what changed in it, with its time and orientation.
public struct DecodedFrame: Sendable {
    /// The image.
    public let image: PixelBuffer

    /// The rows that may differ from the last image that the same decoder produced for the same consumer in the same
    /// format, in ascending order, with gaps between the ranges.
    ///
    /// A consumer is the consumer of a connection, or a reader of a fan-out; readers may share a decoder. The array is
    /// empty if nothing has changed. It covers every row if there is nothing to compare with, if the frame's size or
    /// orientation or the viewport is different, if the sender does not cut its JPEGs into strips, or if a changed image
    /// was rotated.
    public internal(set) var changedRows: [Range<Int>]

    /// The image's orientation; `up` if the decoder has rotated it.
    ///
    /// A mirrored image must be flipped horizontally before it is rotated.
    public let orientation: FrameOrientation

    /// The presentation time in nanoseconds: the sender's, or the time of arrival if the sender states none.
    public let timestamp: UInt64

    init(_ image: PixelBuffer, changedRows: [Range<Int>], orientation: FrameOrientation, timestamp: UInt64) {
        (self.image, self.changedRows) = (image, changedRows)
        (self.orientation, self.timestamp) = (orientation, timestamp)
    }

    /// Creates the result for a frame whose image was decoded; without rows if it was decoded as a whole.
    init(_ image: PixelBuffer, changedRows: [Range<Int>]? = nil, of frame: Frame) {
        self.init(
            image,
            changedRows: changedRows ?? [0..<image.height],
            orientation: frame.orientation,
            timestamp: frame.timestamp ?? frame.receivedAt
        )
    }

    /// Lets every row count as changed.
    mutating func changeAllRows() { changedRows = [0..<image.height] }

    /// Returns the frame with its image upright.
    func upright(pool: PixelBuffer.Pool) throws(TurboJPEGError) -> DecodedFrame {
        guard !orientation.isUpright else { return self }
        var upright = DecodedFrame(
            try image.upright(from: orientation, pool: pool),
            changedRows: [],
            orientation: .up,
            timestamp: timestamp
        )
        if !changedRows.isEmpty { upright.changeAllRows() }
        return upright
    }
}
