internal import FrameWire
public import TurboJPEG

/// The image of a frame, and its changed rows.
public struct DecodedFrame: Sendable {
    /// The image.
    public let image: PixelBuffer

    /// The rows that may differ from the last image that the same decoder produced for the same consumer in the same
    /// format, in ascending order, with gaps between the ranges.
    ///
    /// A consumer is the consumer of a connection, or a reader of a fan-out; readers may share a decoder. The array is
    /// empty if nothing has changed. It covers every row if there is nothing to compare with, if the frame's size or
    /// orientation is different, if the sender does not cut its JPEGs into strips, or if a changed image was rotated.
    public let changedRows: [Range<Int>]

    private init(image: PixelBuffer, changedRows: [Range<Int>]) {
        self.image = image
        self.changedRows = changedRows
    }

    /// Creates a frame from an image that was decoded as a whole.
    init(_ image: PixelBuffer) {
        self.init(image: image, changedRows: [0..<image.height])
    }

    /// Creates a frame from an image of which only some rows have changed.
    init(_ image: PixelBuffer, changedRows: Range<Int>) {
        self.init(image: image, changedRows: changedRows.isEmpty ? [] : [changedRows])
    }

    /// Creates a frame from the top left part of an image that was decoded in strips.
    init(
        _ decoded: (image: PixelBuffer, changes: StripChanges),
        width: Int,
        height: Int
    ) throws(TurboJPEGError) {
        self.init(
            image: try decoded.image.cropped(toWidth: width, height: height),
            changedRows: decoded.changes.rows.map { $0.clamped(to: 0..<height) }.filter { !$0.isEmpty }
        )
    }

    /// Returns the frame with its image upright.
    func upright(from orientation: FrameOrientation, pool: PixelBuffer.Pool) throws(TurboJPEGError) -> DecodedFrame {
        guard orientation.isTurning else { return self }
        let image = try image.upright(from: orientation, pool: pool)
        return DecodedFrame(image: image, changedRows: changedRows.isEmpty ? [] : [0..<image.height])
    }
}
