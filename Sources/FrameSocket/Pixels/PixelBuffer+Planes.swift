internal import CYUV
internal import FrameWire
package import TurboJPEG

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
                let convert = format == .rgba ? unsafe ABGRToJ420 : unsafe ARGBToJ420
                unsafe convertAndScale(
                    UnsafeArea(plan.part, of: sources[0]),
                    (
                        UnsafeArea(plan.place, of: targets[0]),
                        UnsafeArea(plan.place(dividedBy: 2), of: targets[1]),
                        UnsafeArea(plan.place(dividedBy: 2), of: targets[2])
                    ),
                    convert
                )
            }
        }
        return canvas
    }
}

private func convertAndScale(
    _ source: UnsafeArea,
    _ target: (luma: UnsafeArea, blue: UnsafeArea, red: UnsafeArea),
    _ convert: PlaneConverter
) {
    let bands = unsafe ScalingBand.all(
        sourceHeight: Int(source.height),
        targetHeight: Int(target.luma.height),
        step: 2
    )
    let rows = bands.map(\.source.count).max() ?? 0
    let width = unsafe source.width
    let half = (width + 1) / 2
    let lumaBytes = Int(width) * rows
    let chromaBytes = Int(half) * ((rows + 1) / 2)
    unsafe withUnsafeTemporaryAllocation(of: UInt8.self, capacity: lumaBytes + 2 * chromaBytes) { scratch in
        guard let luma = scratch.baseAddress else { return }
        let (blue, red) = unsafe (luma + lumaBytes, luma + lumaBytes + chromaBytes)
        for band in bands {
            let part = unsafe source.rows(band.source)
            // The result only reports a wrong size or pointer.
            _ = unsafe convert(part.base, part.stride, luma, width, blue, half, red, half, width, part.height)
            let halfHeight = unsafe (part.height + 1) / 2
            let chroma = band.target.lowerBound / 2..<(band.target.upperBound + 1) / 2
            unsafe scale(UnsafeArea(luma, width: width, height: part.height), into: target.luma.rows(band.target))
            unsafe scale(UnsafeArea(blue, width: half, height: halfHeight), into: target.blue.rows(chroma))
            unsafe scale(UnsafeArea(red, width: half, height: halfHeight), into: target.red.rows(chroma))
        }
    }
}
