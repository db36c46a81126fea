internal import CYUV
internal import TurboJPEG

extension PixelBuffer {
    /// Returns the image in another format; itself if it has that format.
    ///
    /// Converting between the planar formats is exact, and so is converting between them and gray, which is their luma:
    /// all have a JPEG's full range. Converting between other packed formats and planar ones is the conversion of JPEG,
    /// with chroma averaged over four pixels.
    ///
    /// - Throws: `allocationFailed`.
    func converted(to format: PixelFormat, pool: Pool) throws(TurboJPEGError) -> PixelBuffer {
        guard format != self.format else { return self }
        var result = try pool.buffer(width: width, height: height, format: format)
        try unsafe result.withUnsafeMutablePlanes(preservingContents: false) { targets throws(TurboJPEGError) in
            unsafe withUnsafePlanes { sources in
                switch (self.format, format) {
                case (.i420, .nv12):
                    unsafe copyLuma(sources, targets)
                    unsafe interleaveChroma(sources, targets)
                case (.nv12, .i420):
                    unsafe copyLuma(sources, targets)
                    unsafe separateChroma(sources, targets)
                case (.i420, .gray), (.nv12, .gray):
                    // By way of red, green and blue, colors outside their range would change the luma.
                    unsafe copyLuma(sources, targets)
                case (.bgra, .i420), (.bgrx, .i420):
                    unsafe convert(sources, targets, ARGBToJ420)
                case (.rgba, .i420):
                    unsafe convert(sources, targets, ABGRToJ420)
                default:
                    unsafe sources.convert(into: targets)
                }
            }
        }
        return result
    }
}

/// A function of libyuv that converts pixels to three planes: each with its stride, then the width and the height.
typealias PlaneConverter = (
    UnsafePointer<UInt8>?, Int32, UnsafeMutablePointer<UInt8>?, Int32, UnsafeMutablePointer<UInt8>?, Int32,
    UnsafeMutablePointer<UInt8>?, Int32, Int32, Int32
) -> Int32

// The results of libyuv's functions only report a wrong size or pointer.

@unsafe private func copyLuma(_ from: UnsafePlanes, _ to: UnsafePlanes) {
    let (source, target) = unsafe (UnsafeArea(from[0]), UnsafeArea(to[0]))
    unsafe CopyPlane(source.base, source.stride, target.base, target.stride, source.width, source.height)
}

@unsafe private func interleaveChroma(_ from: UnsafePlanes, _ to: UnsafePlanes) {
    let (blue, red, both) = unsafe (UnsafeArea(from[1]), UnsafeArea(from[2]), UnsafeArea(to[1]))
    unsafe MergeUVPlane(
        blue.base,
        blue.stride,
        red.base,
        red.stride,
        both.base,
        both.stride,
        blue.width,
        blue.height
    )
}

@unsafe private func separateChroma(_ from: UnsafePlanes, _ to: UnsafePlanes) {
    let (both, blue, red) = unsafe (UnsafeArea(from[1]), UnsafeArea(to[1]), UnsafeArea(to[2]))
    unsafe SplitUVPlane(
        both.base,
        both.stride,
        blue.base,
        blue.stride,
        red.base,
        red.stride,
        blue.width,
        blue.height
    )
}

@unsafe private func convert(
    _ from: UnsafePlanes,
    _ to: UnsafePlanes,
    _ convert: PlaneConverter
) {
    let source = unsafe UnsafeArea(from[0])
    let (luma, blue, red) = unsafe (UnsafeArea(to[0]), UnsafeArea(to[1]), UnsafeArea(to[2]))
    _ = unsafe convert(
        source.base,
        source.stride,
        luma.base,
        luma.stride,
        blue.base,
        blue.stride,
        red.base,
        red.stride,
        source.width,
        source.height
    )
}
