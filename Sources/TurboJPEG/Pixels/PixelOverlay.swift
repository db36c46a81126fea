internal import Locking

/// Samples that are blended with a part of every image of one size and format.
///
/// Each byte of an image becomes a weighted mean of itself and the overlay's, rounded to the nearest: in the colors of
/// packed formats, and in the planes of planar ones, of which a chroma sample has the mean weight of its pixels.
package final class PixelOverlay: Sendable {
    /// The rows of the image that it touches; they begin with an even one, and end with an odd one or the last.
    package let rows: Range<Int>
    /// The column of the image at which it begins, an even one.
    private let x: Int
    private let colors: PixelBuffer
    /// The weight of each byte of ``colors``, up to 255.
    private let weights: PixelBuffer
    /// A number that no other overlay of the process has.
    package let id: UInt64

    /// Memory for parts of images that belong to somebody else.
    private let parts = PixelBuffer.Pool(maximumIdleImages: Cores.count)

    private static let lastID = Locked<UInt64>(0)

    /// Creates the overlay of an image whose alpha is not multiplied with its colors.
    ///
    /// - Parameters:
    ///   - image: The image, in `rgba`, which lies within the images that it is drawn on.
    ///   - x: The column at which it begins.
    ///   - y: The row at which it begins.
    ///   - width: The width of the images.
    ///   - height: Their height.
    ///   - format: Their format.
    /// - Throws: `allocationFailed`; `sizeMismatch` if the image does not lie within the others.
    package init(
        _ image: PixelBuffer,
        x: Int,
        y: Int,
        onWidth width: Int,
        height: Int,
        _ format: PixelFormat
    ) throws(TurboJPEGError) {
        guard image.format == .rgba, x >= 0, y >= 0, x + image.width <= width, y + image.height <= height else {
            throw TurboJPEGError(
                .sizeMismatch,
                "an overlay of \(image.width)x\(image.height) at \(x), \(y) is not within \(width)x\(height)"
            )
        }
        // Whole chroma samples: the pixels in addition are transparent.
        let (left, top) = (x - x % 2, y - y % 2)
        let right = min(x + image.width + (x + image.width) % 2, width)
        let bottom = min(y + image.height + (y + image.height) % 2, height)
        var colors = try PixelBuffer(width: right - left, height: bottom - top, format: format, zeroFilled: true)
        var weights = try PixelBuffer(width: right - left, height: bottom - top, format: format, zeroFilled: true)
        try unsafe colors.withUnsafeMutablePlanes { colors throws(TurboJPEGError) in
            try unsafe weights.withUnsafeMutablePlanes { weights throws(TurboJPEGError) in
                unsafe image.withUnsafePlanes { source in
                    let writer = unsafe OverlayWriter(source[0], colors, weights, column: x - left, row: y - top)
                    unsafe writer.write()
                }
            }
        }
        (self.colors, self.weights, self.x, rows) = (colors, weights, left, top..<bottom)
        id = Self.lastID.withLock { last in
            last += 1
            return last
        }
    }

    /// Draws on an image, in memory of `pool` if anything else refers to the image's own.
    ///
    /// - Throws: `allocationFailed`; `sizeMismatch` if the image has another format, or not all of the rows and columns.
    package func draw(on image: inout PixelBuffer, pool: PixelBuffer.Pool = .init()) throws(TurboJPEGError) {
        if !image.isAlone { image = try image.copied(pool: pool) }
        try draw(rows, on: &image, from: 0)
    }

    /// Whether it touches any of these rows.
    func touches(_ rows: Range<Int>) -> Bool { self.rows.overlaps(rows) }

    /// Returns a copy of rows of an image, drawn on; the first is an even one.
    func drawn(on part: PixelBuffer, _ rows: Range<Int>) throws(TurboJPEGError) -> PixelBuffer {
        var copy = try part.copied(pool: parts)
        try draw(self.rows.clamped(to: rows), on: &copy, from: rows.lowerBound)
        return copy
    }

    /// Draws some of its rows on an image that begins with the row `first` of the whole one.
    private func draw(_ rows: Range<Int>, on image: inout PixelBuffer, from first: Int) throws(TurboJPEGError) {
        guard image.format == colors.format, x + colors.width <= image.width, rows.upperBound - first <= image.height
        else { throw TurboJPEGError(.sizeMismatch, "an overlay is for images of another size or format") }
        try unsafe image.withUnsafeMutablePlanes { targets throws(TurboJPEGError) in
            unsafe colors.withUnsafePlanes { colors in
                unsafe weights.withUnsafePlanes { weights in
                    for plane in 0..<(unsafe targets.format.planeCount) {
                        let factor = plane == 0 ? 1 : 2
                        let shape = unsafe colors[plane].shape
                        let offset = x / factor * shape.bytesPerSample
                        for row in rows.lowerBound / factor..<(rows.upperBound + factor - 1) / factor {
                            let own = row - self.rows.lowerBound / factor
                            unsafe blend(
                                targets[plane].row(row - first / factor) + offset,
                                colors[plane].row(own),
                                weights[plane].row(own),
                                count: shape.visibleBytesPerRow
                            )
                        }
                    }
                }
            }
        }
    }
}

/// Blends bytes, each with its own weight.
@unsafe private func blend(
    _ target: UnsafeMutablePointer<UInt8>,
    _ colors: UnsafePointer<UInt8>,
    _ weights: UnsafePointer<UInt8>,
    count: Int
) {
    for index in 0..<count {
        let weight = unsafe UInt16(weights[index])
        // At most 65,152: 255 times 255, and 127 for rounding.
        let sum = unsafe UInt16(colors[index]) &* weight &+ UInt16(target[index]) &* (255 &- weight) &+ 127
        // Divided by 255, exactly for every such sum, in a form that the compiler turns into vector instructions.
        unsafe target[index] = UInt8(truncatingIfNeeded: (sum &+ 1 &+ sum >> 8) >> 8)
    }
}

/// Writes the samples and weights of an overlay.
@unsafe private struct OverlayWriter {
    let source: UnsafePlane
    let colors: UnsafePlanes
    let weights: UnsafePlanes
    /// The place of the source in the overlay, which has up to one more column and row on each side.
    let column: Int
    let row: Int

    init(_ source: UnsafePlane, _ colors: UnsafePlanes, _ weights: UnsafePlanes, column: Int, row: Int) {
        unsafe (self.source, self.colors, self.weights) = (source, colors, weights)
        unsafe (self.column, self.row) = (column, row)
    }

    func write() {
        let format = unsafe colors.format
        for y in 0..<(unsafe source.shape.height) {
            for x in 0..<(unsafe source.shape.width) {
                let pixel = unsafe self.pixel(x, y)
                let offset = unsafe (x + column) * colors[0].shape.bytesPerSample
                let (color, weight) = unsafe (colors[0].row(y + row) + offset, weights[0].row(y + row) + offset)
                guard format.bytesPerPixel > 1 else {
                    unsafe (color[0], weight[0]) = (pixel.luma, pixel.alpha)
                    continue
                }
                let channels = format.channelOffsets
                unsafe (color[channels.red], weight[channels.red]) = (pixel.red, pixel.alpha)
                unsafe (color[channels.green], weight[channels.green]) = (pixel.green, pixel.alpha)
                unsafe (color[channels.blue], weight[channels.blue]) = (pixel.blue, pixel.alpha)
                if let opaque = format.opaqueOffset { unsafe (color[opaque], weight[opaque]) = (255, pixel.alpha) }
            }
        }
        if format.isPlanar { unsafe writeChroma() }
    }

    private func writeChroma() {
        let shape = unsafe colors[1].shape
        for y in 0..<shape.height {
            let (color, weight) = unsafe (colors.chroma(row: y), weights.chroma(row: y))
            for x in 0..<shape.width {
                let mean = unsafe self.chroma(x, y)
                let offset = unsafe x * color.step
                unsafe (color.blue[offset], color.red[offset]) = (mean.blue, mean.red)
                unsafe (weight.blue[offset], weight.red[offset]) = (mean.weight, mean.weight)
            }
        }
    }

    /// Returns the mean chroma of up to four pixels, of each as much as it shows, and their mean alpha.
    private func chroma(_ x: Int, _ y: Int) -> (blue: UInt8, red: UInt8, weight: UInt8) {
        let columns = unsafe 2 * x..<min(2 * x + 2, colors.width)
        let rows = unsafe 2 * y..<min(2 * y + 2, colors.height)
        var (blue, red, alpha) = (0.0, 0.0, 0.0)
        for y in rows {
            for x in columns {
                let (ownX, ownY) = unsafe (x - column, y - row)
                guard unsafe 0..<source.shape.width ~= ownX, unsafe 0..<source.shape.height ~= ownY else { continue }
                let pixel = unsafe self.pixel(ownX, ownY)
                let own = Double(pixel.alpha)
                (blue, red, alpha) = (blue + own * pixel.blueness, red + own * pixel.redness, alpha + own)
            }
        }
        guard alpha > 0 else { return (128, 128, 0) }
        let count = Double(columns.count * rows.count)
        return (UInt8(rounding: blue / alpha), UInt8(rounding: red / alpha), UInt8(rounding: alpha / count))
    }

    private func pixel(_ x: Int, _ y: Int) -> OverlayPixel {
        let bytes = unsafe source.row(y) + 4 * x
        return unsafe OverlayPixel(red: bytes[0], green: bytes[1], blue: bytes[2], alpha: bytes[3])
    }
}

/// A color with alpha, and its luma and chroma as JFIF defines them.
private struct OverlayPixel {
    let red: UInt8
    let green: UInt8
    let blue: UInt8
    let alpha: UInt8

    var luma: UInt8 { UInt8(rounding: 0.299 * Double(red) + 0.587 * Double(green) + 0.114 * Double(blue)) }

    /// Cb.
    var blueness: Double { 128 - 0.168736 * Double(red) - 0.331264 * Double(green) + 0.5 * Double(blue) }

    /// Cr.
    var redness: Double { 128 + 0.5 * Double(red) - 0.418688 * Double(green) - 0.081312 * Double(blue) }
}

extension UInt8 {
    /// The nearest value to a number; 0 if it is not a number.
    package init(rounding value: Double) {
        self = value > 0 ? UInt8(exactly: value.rounded()) ?? .max : 0
    }
}
