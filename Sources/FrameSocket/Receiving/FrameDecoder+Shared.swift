public import FrameTransport
internal import FrameWire
public import TurboJPEG

extension PixelBuffer {
    /// Creates an image over the memory that a frame's sender shares, without a copy.
    ///
    /// The last reference to the image releases the memory. Changing the image copies it first.
    ///
    /// - Parameter shared: The image of a received frame.
    /// - Throws: `overlappingPlanes`, `invalidSize` or `invalidStride` if no image can have these planes.
    public init(sharing shared: Frame.SharedImage) throws(TurboJPEGError) {
        let loan = shared.loan
        try unsafe self.init(
            adopting: shared.unsafePlanes,
            width: shared.bufferSize.width,
            height: shared.bufferSize.height,
            format: shared.format
        ) {
            withExtendedLifetime(loan) {}
        }
    }
}

extension FrameDecoder {
    /// Returns the image of a frame in shared memory: in place, unless it has to be converted or scaled.
    func image(
        of shared: Frame.SharedImage,
        in frame: Frame,
        as format: PixelFormat,
        scale: JPEGDecoder.ScalingFactor
    ) throws(TurboJPEGError) -> DecodedFrame {
        let pool = configuration.jpeg.pool
        var image = try PixelBuffer(sharing: shared)
        if scale != .full {
            let size = scale.scaled(width: image.width, height: image.height)
            image = try image.scaled(toWidth: size.width, height: size.height, pool: pool)
        }
        let converted = try image.converted(to: format, pool: pool)
        guard scale == .full else { return DecodedFrame(converted, of: frame) }
        // A row of a packed image becomes one of luma, and a part of the chroma of two.
        let addsChroma = converted.planeCount > image.planeCount
        let rows = addsChroma ? shared.changedRows.pairs(of: image.height) : shared.changedRows
        return DecodedFrame(converted, changedRows: rows.isEmpty ? [] : [rows], of: frame)
    }
}

extension Range<Int> {
    /// The rows that share their chroma with these, of so many.
    fileprivate func pairs(of height: Int) -> Self {
        isEmpty ? self : lowerBound / 2 * 2..<Swift.min(height, (upperBound + 1) / 2 * 2)
    }
}
