internal import FrameWire
public import TurboJPEG

/// The image of a frame, and what is new in it.
public struct DecodedFrame: Sendable {
    /// The image.
    public let picture: PixelBuffer

    /// The rows that may differ from the last image that the same decoder made for the same consumer in the same format, in
    /// ascending order, with gaps between them.
    ///
    /// A consumer is that of a connection, or a reader of a fan-out: readers may share a decoder. The rows are empty if nothing
    /// has changed. They are all rows if there is nothing to compare with, if the frame's size or orientation is another, if the
    /// sender does not cut its JPEGs into strips, and if an image that has changed was turned.
    public let changedRows: [Range<Int>]

    private init(picture: PixelBuffer, changedRows: [Range<Int>]) {
        self.picture = picture
        self.changedRows = changedRows
    }

    /// An image that was decoded as a whole.
    init(_ picture: PixelBuffer) {
        self.init(picture: picture, changedRows: [0..<picture.height])
    }

    /// The top left part of an image that was decoded in strips.
    init(
        _ decoded: (picture: PixelBuffer, changes: StripChanges),
        width: Int,
        height: Int
    ) throws(TurboJPEGError) {
        self.init(
            picture: try decoded.picture.cropped(toWidth: width, height: height),
            changedRows: decoded.changes.rows.map { $0.clamped(to: 0..<height) }.filter { !$0.isEmpty }
        )
    }

    /// The image turned, so that a person sees it upright.
    func upright(from orientation: FrameOrientation, pool: PixelBufferPool) throws(TurboJPEGError) -> DecodedFrame {
        guard orientation.isTurning else { return self }
        let picture = try picture.upright(from: orientation, pool: pool)
        return DecodedFrame(picture: picture, changedRows: changedRows.isEmpty ? [] : [0..<picture.height])
    }
}
