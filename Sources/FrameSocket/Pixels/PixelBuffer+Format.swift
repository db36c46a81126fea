internal import CYUV
internal import FrameWire
package import TurboJPEG

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
                func source(_ plane: Int) -> UnsafeArea { unsafe UnsafeArea(sources[plane]) }
                func target(_ plane: Int) -> UnsafeArea { unsafe UnsafeArea(targets[plane]) }
                switch (self.format, format) {
                case (.i420, .nv12):
                    unsafe scale(source(0), into: target(0))
                    unsafe interleave(source(1), source(2), into: target(1))
                case (.nv12, .i420):
                    unsafe scale(source(0), into: target(0))
                    unsafe separate(source(1), into: target(1), target(2))
                case (.i420, .gray), (.nv12, .gray):
                    // By way of red, green and blue, colors outside their range would change the luma.
                    unsafe scale(source(0), into: target(0))
                case (.bgra, .i420), (.bgrx, .i420), (.rgba, .i420):
                    unsafe convert(source(0), isRGBA: self.format == .rgba, into: (target(0), target(1), target(2)))
                default:
                    unsafe sources.convert(into: targets)
                }
            }
        }
        return result
    }
}

/// The three planes of an image in I420.
private typealias Planes = (luma: UnsafeArea, blue: UnsafeArea, red: UnsafeArea)

// The results of libyuv's functions only report a wrong size or pointer.

/// Converts pixels in BGRA or RGBA to planes.
@unsafe private func convert(_ source: UnsafeArea, isRGBA: Bool, into planes: Planes) {
    let convert = isRGBA ? unsafe ABGRToJ420 : unsafe ARGBToJ420
    _ = unsafe convert(
        source.base,
        source.stride,
        planes.luma.base,
        planes.luma.stride,
        planes.blue.base,
        planes.blue.stride,
        planes.red.base,
        planes.red.stride,
        source.width,
        source.height
    )
}

@unsafe private func interleave(_ blue: UnsafeArea, _ red: UnsafeArea, into both: UnsafeArea) {
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

@unsafe private func separate(_ both: UnsafeArea, into blue: UnsafeArea, _ red: UnsafeArea) {
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

extension PixelFormat {
    /// Returns whether a plan reduces an image so much that it is converted to planes while scaling.
    ///
    /// A JPEG with 4:2:0 chroma needs no more; planes take three eighths of the memory, and less time to encode.
    package func canBecomePlanes(by plan: OutputPlan) -> Bool {
        switch self {
        case .bgra, .bgrx, .rgba:
            plan.scaled.width <= plan.part.width / 2 && plan.scaled.height <= plan.part.height / 2
        default:
            false
        }
    }
}

extension PixelBuffer {
    /// Returns the image in I420, after a plan for which `canBecomePlanes(by:)` of its format is true.
    ///
    /// The image is processed in bands of rows, which are converted and then scaled.
    ///
    /// - Throws: `sizeMismatch` if the plan is for another size; `invalidSize` or `allocationFailed`.
    package func planes(by plan: OutputPlan, pool: Pool) throws(TurboJPEGError) -> PixelBuffer {
        try check(plan)
        var canvas = try pool.buffer(width: plan.canvas.width, height: plan.canvas.height, format: .i420)
        try unsafe canvas.withUnsafeMutablePlanes(preservingContents: false) { targets throws(TurboJPEGError) in
            if plan.canvas != plan.scaled {
                for plane in 0..<3 { unsafe blacken(targets[plane], of: .i420, isChroma: plane > 0) }
            }
            unsafe withUnsafePlanes { sources in
                let target = unsafe (
                    luma: UnsafeArea(plan.place, of: targets[0]),
                    blue: UnsafeArea(plan.place(dividedBy: 2), of: targets[1]),
                    red: UnsafeArea(plan.place(dividedBy: 2), of: targets[2])
                )
                unsafe convertAndScale(UnsafeArea(plan.part, of: sources[0]), isRGBA: format == .rgba, into: target)
            }
        }
        return canvas
    }
}

private func convertAndScale(_ source: UnsafeArea, isRGBA: Bool, into target: Planes) {
    let (width, height) = unsafe (Int(source.width), Int(source.height))
    let half = (width: (width + 1) / 2, height: (height + 1) / 2)
    let luma = unsafe AreaMean(target.luma, of: (width, height))
    let chroma = unsafe AreaMean(target.blue, of: half)
    let bands = unsafe bands(of: Int(target.luma.height), luma, chroma)
    let halfRows = bands.map(\.converted.count).max() ?? 0
    let (lumaBytes, chromaBytes) = (width * 2 * halfRows, half.width * halfRows)
    unsafe withUnsafeTemporaryAllocation(of: UInt8.self, capacity: lumaBytes + 2 * chromaBytes) { scratch in
        guard let base = scratch.baseAddress else { return }
        let (blue, red) = unsafe (base + lumaBytes, base + lumaBytes + chromaBytes)
        for band in bands {
            let rows = 2 * band.converted.lowerBound..<min(2 * band.converted.upperBound, height)
            let pairs = band.converted.count
            let planes = unsafe (
                luma: UnsafeArea(base, width: width, height: rows.count),
                blue: UnsafeArea(blue, width: half.width, height: pairs),
                red: UnsafeArea(red, width: half.width, height: pairs)
            )
            unsafe convert(source.rows(rows), isRGBA: isRGBA, into: planes)
            unsafe luma.writeRows(band.luma, of: planes.luma, from: rows.lowerBound, into: target.luma)
            let first = band.converted.lowerBound
            unsafe chroma.writeRows(band.chroma, of: planes.blue, from: first, into: target.blue)
            unsafe chroma.writeRows(band.chroma, of: planes.red, from: first, into: target.red)
        }
    }
}

/// Rows of a result in I420, and the rows of chroma, each of two rows of pixels, of which they are made.
private typealias PlaneBand = (luma: Range<Int>, chroma: Range<Int>, converted: Range<Int>)

/// Divides a result into bands that are made of few enough rows to stay in the cache.
///
/// Where a row belongs to the means of two bands, it is converted for each: means do not depend on the bands.
private func bands(of height: Int, _ luma: AreaMean, _ chroma: AreaMean) -> [PlaneBand] {
    // Two rows of the result share one of chroma.
    let step = 2 * max(1, 32 * height / luma.source(of: 0..<height).count)
    return stride(from: 0, to: height, by: step).map { start in
        let rows = start..<min(start + step, height)
        let halfRows = start / 2..<(rows.upperBound + 1) / 2
        let (pixels, pairs) = (luma.source(of: rows), chroma.source(of: halfRows))
        let first = min(pixels.lowerBound / 2, pairs.lowerBound)
        return (rows, halfRows, first..<max((pixels.upperBound + 1) / 2, pairs.upperBound))
    }
}

extension AreaMean {
    /// Creates the step for a whole plane.
    @unsafe fileprivate init(_ to: UnsafeArea, of size: (width: Int, height: Int)) {
        unsafe self.init(width: Int(to.width), height: Int(to.height), of: size)
    }

    /// Writes some rows of a target, of the rows from which they are made.
    @unsafe fileprivate func writeRows(
        _ rows: Range<Int>,
        of from: UnsafeArea,
        from firstRow: Int,
        into to: UnsafeArea
    ) {
        let target = unsafe to.rows(rows)
        let source = source(of: rows)
        let part = unsafe from.rows(source.lowerBound - firstRow..<source.upperBound - firstRow)
        if isLeftToLibyuv(channels: 1) { return unsafe scale(part, into: target) }
        unsafe write(0..<width, rows, of: part, from: source.lowerBound, into: target)
    }
}
