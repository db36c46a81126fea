internal import CYUV
public import TurboJPEG

extension PixelBuffer {
    /// Returns the image in another size: every new pixel is the mean of what it covers, up to half the size, and
    /// interpolated above.
    ///
    /// Means count parts of pixels, and are rounded to the nearest value; those of packed pixels at exactly half the size
    /// are rounded twice. If only one side shrinks to half or less, it alone is averaged. Planes that are one sample wide
    /// are enlarged without interpolation.
    ///
    /// Planar formats are scaled plane by plane, without conversion to RGB. An image that already has the size is
    /// returned unchanged, without a copy.
    ///
    /// - Parameters:
    ///   - width: The new width in pixels, from 1 to 65,500.
    ///   - height: The new height in pixels, from 1 to 65,500.
    ///   - pool: The pool that provides the memory of the result.
    /// - Returns: The scaled image, in the same format.
    /// - Throws: `invalidSize` or `allocationFailed`.
    public func scaled(
        toWidth width: Int,
        height: Int,
        pool: Pool = Pool()
    ) throws(TurboJPEGError) -> PixelBuffer {
        guard (width, height) != (self.width, self.height) else { return self }
        var result = try pool.buffer(width: width, height: height, format: format)
        try unsafe result.withUnsafeMutablePlanes(preservingContents: false) { targets throws(TurboJPEGError) in
            unsafe withUnsafePlanes { sources in
                for plane in 0..<planeCount {
                    unsafe scale(UnsafeArea(sources[plane]), into: UnsafeArea(targets[plane]))
                }
            }
        }
        return result
    }
}

/// Scales a part of a plane to the size of another, or copies it if the sizes are equal.
func scale(_ from: UnsafeArea, into to: UnsafeArea) {
    typealias Scaler = (
        UnsafePointer<UInt8>?, Int32, Int32, Int32, UnsafeMutablePointer<UInt8>?, Int32, Int32, Int32, FilterMode
    ) -> Int32
    if let mean = unsafe AreaMean(from, to) { return unsafe scale(from, by: mean, into: to) }
    if unsafe ScalingTile.isNeeded(for: from) {
        for tile in unsafe ScalingTile.all(from, to) {
            unsafe scale(tile.source(of: from), into: tile.target(of: to))
        }
        return
    }
    if unsafe from.bytesPerSample > 1 && isInterpolated(from, to) { return unsafe interpolate(from, into: to) }
    // The results only report a wrong size or pointer, which buffers rule out.
    let scaler: Scaler =
        switch unsafe from.bytesPerSample {
        case 1: unsafe scalePlane
        case 2: unsafe UVScale
        case 3: unsafe RGBScale
        default: unsafe ARGBScale
        }
    _ = unsafe scaler(
        from.base,
        from.stride,
        from.width,
        from.height,
        to.base,
        to.stride,
        to.width,
        to.height,
        kFilterBox
    )
}

/// Scales an area by exact means where its sides shrink to half or less, and by libyuv the rest of the way, in bands.
private func scale(_ from: UnsafeArea, by mean: AreaMean, into to: UnsafeArea) {
    let (width, height) = unsafe (Int(to.width), Int(to.height))
    if mean.width == width && mean.height == height {
        return unsafe mean.write(0..<width, 0..<height, of: from, into: to)
    }
    // A side that is interpolated is whole in every band.
    let isWide = mean.height == height
    let channels = unsafe from.bytesPerSample
    let length = isWide ? mean.width : mean.height
    let count = isWide ? height : width
    let step = max(1, 65_536 / (length * channels))
    unsafe withUnsafeTemporaryAllocation(of: UInt8.self, capacity: length * min(step, count) * channels) { memory in
        guard let base = memory.baseAddress else { return }
        for start in stride(from: 0, to: count, by: step) {
            let band = start..<min(start + step, count)
            let (columns, rows) = isWide ? (0..<length, band) : (band, 0..<length)
            let means = unsafe UnsafeArea(base, width: columns.count, height: rows.count, bytesPerSample: channels)
            unsafe mean.write(columns, rows, of: from, into: means)
            unsafe scale(means, into: isWide ? to.rows(band) : to.part(band, 0..<height))
        }
    }
}

/// Returns whether libyuv would interpolate between columns of pixels of several bytes, with weights that lose up to one
/// part in 128; those of planes do not.
private func isInterpolated(_ from: UnsafeArea, _ to: UnsafeArea) -> Bool {
    unsafe to.width != from.width && 2 * to.width > from.width
}

/// `ScalePlane` with the signature of its siblings, which return a result.
private func scalePlane(
    _ source: UnsafePointer<UInt8>?,
    _ sourceStride: Int32,
    _ sourceWidth: Int32,
    _ sourceHeight: Int32,
    _ target: UnsafeMutablePointer<UInt8>?,
    _ targetStride: Int32,
    _ targetWidth: Int32,
    _ targetHeight: Int32,
    _ filter: FilterMode
) -> Int32 {
    unsafe ScalePlane(
        source,
        sourceStride,
        sourceWidth,
        sourceHeight,
        target,
        targetStride,
        targetWidth,
        targetHeight,
        filter
    )
    return 0
}
