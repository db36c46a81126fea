internal import CYUV
public import TurboJPEG

extension PixelBuffer {
    /// The picture in another size.
    ///
    /// At a half and below, each new pixel is the mean of what it covers; above, it is interpolated. Planar formats are
    /// scaled plane by plane, without a detour through RGB.
    ///
    /// - Parameters:
    ///   - width: the new width in pixels, from 1 to 32,767.
    ///   - height: the new height in pixels, from 1 to 32,767.
    ///   - pool: where the memory of the result comes from.
    /// - Returns: the scaled picture, or this one, without a copy, where it has the size already.
    /// - Throws: `invalidSize`, also where a side of this picture is over 32,767; `allocationFailed`.
    public func scaled(
        toWidth width: Int,
        height: Int,
        pool: PixelBufferPool = PixelBufferPool()
    ) throws(TurboJPEGError) -> PixelBuffer {
        guard (width, height) != (self.width, self.height) else { return self }
        guard max(width, height, self.width, self.height) <= maximumSide else {
            throw TurboJPEGError(
                .invalidSize,
                "\(self.width)x\(self.height) cannot be scaled to \(width)x\(height); sides may have \(maximumSide) pixels."
            )
        }
        let isBelowHalf = 2 * width < self.width && 2 * height < self.height
        guard isBelowHalf, format != .gray, format != .i420 else {
            return try unsafe mapped(toWidth: width, height: height, pool: pool) { unsafe scale($0, into: $1) }
        }
        // Below a half libyuv has no means of packed samples but for a quarter: it takes those at the corners, and where one
        // side alone is a quarter it ends the process. So each channel is scaled by itself.
        return try unsafe mapped(toWidth: self.width, height: self.height, pool: pool) { unsafe split($0, into: $1) }
            .mapped(toWidth: width, height: height, pool: pool) { unsafe scaleChannels(of: $0, into: $1) }
            .mapped(toWidth: width, height: height, pool: pool) { unsafe merge($0, into: $1) }
    }

    /// Makes a picture from the planes of this one.
    private func mapped(
        toWidth width: Int,
        height: Int,
        pool: PixelBufferPool,
        _ body: (UnsafePlane, UnsafePlane) -> Void
    ) throws(TurboJPEGError) -> PixelBuffer {
        var result = try pool.buffer(width: width, height: height, format: format)
        try unsafe result.withUnsafeMutablePlanes(preservingContents: false) { targets throws(TurboJPEGError) in
            unsafe withUnsafePlanes { sources in
                for plane in 0..<planeCount {
                    unsafe body(sources[plane], targets[plane])
                }
            }
        }
        return result
    }
}

/// libyuv counts places in 16 bits and a fraction: beyond that it leaves the result as it was, or reads from elsewhere.
private let maximumSide = 32_767

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

// MARK: - Channel by channel

/// Rearranges each row so that it holds one channel after the other.
private func split(_ source: UnsafePlane, into target: UnsafePlane) {
    let shape = unsafe source.shape
    let (from, to) = unsafe (Int32(shape.bytesPerRow), Int32(target.shape.bytesPerRow))
    let (width, height) = (Int32(shape.width), Int32(shape.height))
    let (first, second) = unsafe (target.base, target.base + shape.width)
    switch shape.bytesPerSample {
    case 1:
        unsafe CopyPlane(source.base, from, first, to, width, height)
    case 2:
        unsafe SplitUVPlane(source.base, from, first, to, second, to, width, height)
    case 3:
        unsafe SplitRGBPlane(source.base, from, first, to, second, to, second + shape.width, to, width, height)
    default:
        let (third, fourth) = unsafe (second + shape.width, second + 2 * shape.width)
        unsafe SplitARGBPlane(source.base, from, first, to, second, to, third, to, fourth, to, width, height)
    }
}

/// Scales rows that hold one channel after the other to such rows.
private func scaleChannels(of source: UnsafePlane, into target: UnsafePlane) {
    let (from, to) = unsafe (source.shape, target.shape)
    for channel in 0..<from.bytesPerSample {
        unsafe ScalePlane(
            source.base + channel * from.width,
            Int32(from.bytesPerRow),
            Int32(from.width),
            Int32(from.height),
            target.base + channel * to.width,
            Int32(to.bytesPerRow),
            Int32(to.width),
            Int32(to.height),
            kFilterBox
        )
    }
}

/// Puts the channels of each row together to samples again.
private func merge(_ source: UnsafePlane, into target: UnsafePlane) {
    let shape = unsafe source.shape
    let (from, to) = unsafe (Int32(shape.bytesPerRow), Int32(target.shape.bytesPerRow))
    let (width, height) = (Int32(shape.width), Int32(shape.height))
    let (first, second) = unsafe (source.base, source.base + shape.width)
    switch shape.bytesPerSample {
    case 1:
        unsafe CopyPlane(first, from, target.base, to, width, height)
    case 2:
        unsafe MergeUVPlane(first, from, second, from, target.base, to, width, height)
    case 3:
        unsafe MergeRGBPlane(first, from, second, from, second + shape.width, from, target.base, to, width, height)
    default:
        let (third, fourth) = unsafe (second + shape.width, second + 2 * shape.width)
        unsafe MergeARGBPlane(first, from, second, from, third, from, fourth, from, target.base, to, width, height)
    }
}
