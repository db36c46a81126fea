internal import FrameWire
package import TurboJPEG

extension PixelBuffer {
    /// The size in pixels.
    @inline(__always)
    var size: BufferSize { BufferSize(width: width, height: height) }

    /// Returns the image with a plan for its size applied.
    ///
    /// Planar formats are processed plane by plane, without conversion to RGB. An image that stays unchanged, or only
    /// loses columns on the right and rows at the bottom, is not copied.
    ///
    /// - Parameters:
    ///   - plan: The plan to apply.
    ///   - pool: The pool that provides the memory of the result.
    /// - Returns: The image, with the size of the plan's canvas and in the same format.
    /// - Throws: `sizeMismatch` if the plan is for another size; `invalidSize` or `allocationFailed`.
    package func applying(
        _ plan: OutputPlan,
        pool: Pool = Pool()
    ) throws(TurboJPEGError) -> PixelBuffer {
        try check(plan)
        if plan.canvas == plan.scaled, plan.part.x == 0, plan.part.y == 0 {
            return try cropped(toWidth: plan.part.width, height: plan.part.height)
                .scaled(toWidth: plan.scaled.width, height: plan.scaled.height, pool: pool)
        }
        var canvas = try pool.buffer(width: plan.canvas.width, height: plan.canvas.height, format: format)
        try unsafe canvas.withUnsafeMutablePlanes(preservingContents: false) { targets throws(TurboJPEGError) in
            unsafe withUnsafePlanes { sources in
                for plane in 0..<planeCount {
                    let factor = plane == 0 ? 1 : 2
                    if plan.canvas != plan.scaled { unsafe blacken(targets[plane], of: format, isChroma: plane > 0) }
                    unsafe scale(
                        UnsafeArea(plan.part.divided(by: factor), of: sources[plane]),
                        into: UnsafeArea(plan.place(dividedBy: factor), of: targets[plane])
                    )
                }
            }
        }
        return canvas
    }

    /// Returns a copy of at least this size, in which the last column is repeated to the right, and the last row downwards.
    ///
    /// - Throws: `allocationFailed` if there is no memory, or the errors of a size that no buffer can have.
    func extended(
        toWidth wantedWidth: Int,
        height wantedHeight: Int,
        pool: Pool
    ) throws(TurboJPEGError) -> PixelBuffer {
        var copy = try pool.buffer(width: max(width, wantedWidth), height: max(height, wantedHeight), format: format)
        try unsafe copy.withUnsafeMutablePlanes(preservingContents: false) { targets throws(TurboJPEGError) in
            unsafe withUnsafePlanes { sources in
                for plane in 0..<planeCount {
                    let (from, to) = unsafe (sources[plane], targets[plane])
                    let (own, extended) = unsafe (from.shape, to.shape)
                    for y in 0..<extended.height {
                        let row = unsafe to.base + y * extended.bytesPerRow
                        let source = unsafe from.base + min(y, own.height - 1) * own.bytesPerRow
                        unsafe row.update(from: source, count: own.visibleBytesPerRow)
                        for byte in own.visibleBytesPerRow..<extended.visibleBytesPerRow {
                            unsafe row[byte] = row[byte - own.bytesPerSample]
                        }
                    }
                }
            }
        }
        return copy
    }

    /// Throws an error if a plan is for an image of another size, whose pixels are not all in this one.
    func check(_ plan: OutputPlan) throws(TurboJPEGError) {
        guard plan.image.width == width, plan.image.height == height else {
            throw TurboJPEGError(
                .sizeMismatch,
                "the plan is for \(plan.image.width)x\(plan.image.height), but the image has \(width)x\(height)"
            )
        }
    }
}

extension PixelBuffer.Rectangle {
    /// Returns the rectangle in a plane with one sample per block of `factor` pixels; its position is a multiple of
    /// that.
    func divided(by factor: Int) -> PixelBuffer.Rectangle {
        PixelBuffer.Rectangle(
            x: x / factor,
            y: y / factor,
            width: (width + factor - 1) / factor,
            height: (height + factor - 1) / factor
        )
    }
}

/// Fills a plane with opaque black: with the neutral value if it is chroma.
func blacken(_ plane: UnsafePlane, of format: PixelFormat, isChroma: Bool) {
    let shape = unsafe plane.shape
    for y in 0..<shape.height {
        let row = unsafe plane.base + y * shape.bytesPerRow
        unsafe row.update(repeating: isChroma ? 128 : 0, count: shape.visibleBytesPerRow)
        guard let alpha = format.opaqueOffset else { continue }
        for x in 0..<shape.width { unsafe row[x * shape.bytesPerSample + alpha] = 255 }
    }
}
