/// A JPEG's header, checked against a decoder's limits, and the size that its picture gets.
struct DecodingSource {
    let header: JPEGHeader
    /// The width after scaling.
    let width: Int
    /// The height after scaling.
    let height: Int

    /// Reads the header, and refuses what is too large or has no meaning in the pixel formats here.
    init(
        _ jpeg: Span<UInt8>,
        scale: ScalingFactor,
        limits: JPEGDecoder,
        handle: borrowing CodecHandle
    ) throws(TurboJPEGError) {
        header = try JPEGHeader(inspecting: jpeg, with: handle)
        (width, height) = scale.scaled(width: header.width, height: header.height)
        for size in [(header.width, header.height), (width, height)] {
            try Self.check(
                size,
                maximumDimension: min(limits.maximumDimension, PixelLayout.maximumDimension),
                maximumPixels: limits.maximumPixels
            )
        }
        guard header.colorspace != .cmyk, header.colorspace != .ycck else {
            throw TurboJPEGError(
                .unsupported,
                "The JPEG has colours for print (\(header.colorspace)); convert it to RGB with a colour profile first."
            )
        }
    }

    /// Refuses a size over the limits.
    ///
    /// Sides are at most 65,500 x 2, so that their product fits.
    static func check(
        _ size: (width: Int, height: Int),
        maximumDimension: Int,
        maximumPixels: Int
    ) throws(TurboJPEGError) {
        guard max(size.width, size.height) <= maximumDimension else {
            throw TurboJPEGError(
                .tooLarge,
                "The picture of \(size.width)x\(size.height) is over the limit of \(maximumDimension) for a side."
            )
        }
        guard size.width * size.height <= maximumPixels else {
            throw TurboJPEGError(
                .tooLarge,
                "The picture of \(size.width)x\(size.height) is over the limit of \(maximumPixels) pixels."
            )
        }
    }
}
