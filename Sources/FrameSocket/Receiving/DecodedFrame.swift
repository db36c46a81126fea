internal import FrameWire
public import TurboJPEG

/// The picture of a frame, and what is new in it.
public struct DecodedFrame: Sendable {
    /// The picture.
    public let picture: PixelBuffer

    /// The rows that may differ from the last picture that the same decoder made of the same connection, in the same format;
    /// in ascending order, with gaps between them.
    ///
    /// Empty where nothing has changed; all where there is nothing to compare with, where the sender does not cut its JPEGs into
    /// strips, and where a picture that has changed was turned.
    public let changedRows: [Range<Int>]

    private init(picture: PixelBuffer, changedRows: [Range<Int>]) {
        self.picture = picture
        self.changedRows = changedRows
    }

    /// A picture that was decoded as a whole.
    init(_ picture: PixelBuffer) {
        self.init(picture: picture, changedRows: [0..<picture.height])
    }

    /// The top left part of a picture that was decoded in strips.
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

    /// The picture turned, so that a person sees it upright.
    func upright(from orientation: FrameOrientation, pool: PixelBufferPool) throws(TurboJPEGError) -> DecodedFrame {
        guard orientation.isTurning else { return self }
        let picture = try picture.upright(from: orientation, pool: pool)
        return DecodedFrame(picture: picture, changedRows: changedRows.isEmpty ? [] : [0..<picture.height])
    }
}
