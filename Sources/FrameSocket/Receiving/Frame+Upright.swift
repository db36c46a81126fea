public import FrameTransport
public import FrameWire
public import TurboJPEG

extension JPEGTransform {
    /// The transform that makes an image of the given orientation upright, as this wire understands orientations.
    public init(uprighting orientation: FrameOrientation) {
        self =
            switch (orientation.isMirrored, orientation.rotation) {
            case (false, 90): .rotate90
            case (false, 180): .rotate180
            case (false, 270): .rotate270
            case (false, _): .none
            case (true, 90): .transverse
            case (true, 180): .flipVertical
            case (true, 270): .transpose
            case (true, _): .flipHorizontal
            }
    }
}

extension Frame {
    /// The frame with its JPEG flipped and turned upright without decoding it, and so without loss.
    ///
    /// It is a message, ready to be sent on; its size is the new JPEG's own. Only whole blocks can move, of 8 or 16 pixels
    /// a side: see `JPEGTransform.Edges` for what becomes of the rest. To keep every pixel, decode the frame upright
    /// and encode it.
    ///
    /// - Parameters:
    ///   - edges: By default partial blocks that would have to move are cut off, at most 15 pixels of width and height; a
    ///     picture without such blocks loses nothing.
    ///   - limits: What the JPEG may be.
    /// - Returns: The upright frame, with the timestamp and number of this one; the same bytes if it is upright.
    /// - Throws: What `JPEGTransform` throws: `transformFailed` with `perfect` edges that cannot be, `unsupported` for
    ///   4:1:1 on its side, and for damaged data.
    public func uprightJPEG(
        edges: JPEGTransform.Edges = .trim,
        limits: JPEGLimits = .init()
    ) throws(TurboJPEGError) -> FrameMessage {
        var message = FrameMessage(jpeg: jpeg, bufferSize: bufferSize, timestamp: timestamp, sequence: sequence)
        guard orientation.isTurning else { return message }
        let upright = try UprightJPEG(jpeg, orientation, edges: edges, limits: limits)
        message.jpeg = upright.jpeg
        message.bufferSize = upright.size
        return message
    }
}
