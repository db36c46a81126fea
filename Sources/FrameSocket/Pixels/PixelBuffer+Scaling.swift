internal import CYUV
public import TurboJPEG

extension PixelBuffer {
    /// The picture in another size, each new pixel the mean of what it covers (libyuv's box filter).
    ///
    /// Planar formats are scaled plane by plane, without a detour through RGB. A picture that has the size already is
    /// returned as it is, without a copy.
    ///
    /// - Parameters:
    ///   - width: the new width in pixels, from 1.
    ///   - height: the new height in pixels, from 1.
    ///   - pool: where the memory of the result comes from.
    /// - Returns: the scaled picture, in the same format.
    /// - Throws: `invalidSize` or `allocationFailed`.
    public func scaled(
        toWidth width: Int,
        height: Int,
        pool: PixelBufferPool = PixelBufferPool()
    ) throws(TurboJPEGError) -> PixelBuffer {
        guard (width, height) != (self.width, self.height) else { return self }
        var result = try pool.buffer(width: width, height: height, format: format)
        try unsafe result.withUnsafeMutablePlanes(preservingContents: false) { targets throws(TurboJPEGError) in
            unsafe withUnsafePlanes { sources in
                for plane in 0..<planeCount {
                    unsafe scale(sources[plane], into: targets[plane])
                }
            }
        }
        return result
    }
}

private func scale(_ source: UnsafePlane, into target: UnsafePlane) {
    let (from, to) = unsafe (source.shape, target.shape)
    let (fromStride, toStride) = (Int32(from.bytesPerRow), Int32(to.bytesPerRow))
    let (fromWidth, fromHeight) = (Int32(from.width), Int32(from.height))
    let (toWidth, toHeight) = (Int32(to.width), Int32(to.height))
    let filter = kFilterBox
    // The results say no more than that a size or pointer is wrong, which buffers rule out.
    switch from.bytesPerSample {
    case 1:
        unsafe ScalePlane(
            source.base,
            fromStride,
            fromWidth,
            fromHeight,
            target.base,
            toStride,
            toWidth,
            toHeight,
            filter
        )
    case 2:
        _ = unsafe UVScale(
            source.base,
            fromStride,
            fromWidth,
            fromHeight,
            target.base,
            toStride,
            toWidth,
            toHeight,
            filter
        )
    case 3:
        _ = unsafe RGBScale(
            source.base,
            fromStride,
            fromWidth,
            fromHeight,
            target.base,
            toStride,
            toWidth,
            toHeight,
            filter
        )
    default:
        _ = unsafe ARGBScale(
            source.base,
            fromStride,
            fromWidth,
            fromHeight,
            target.base,
            toStride,
            toWidth,
            toHeight,
            filter
        )
    }
}
