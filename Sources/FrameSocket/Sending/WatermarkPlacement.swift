internal import FrameWire
internal import TurboJPEG

/// Where a watermark comes to lie on frames of one size and orientation, and how much of it is visible.
struct WatermarkPlacement: Sendable, Equatable {
    let watermark: SampleUploader.Watermark
    /// The size of the frames, as they are encoded.
    let size: BufferSize
    /// The orientation that their header states.
    let orientation: FrameOrientation
    /// The size that the watermark is scaled to, all of it; upright.
    private let scaled: BufferSize
    /// The visible part of the scaled watermark.
    private let part: PixelBuffer.Rectangle
    /// The place of that part on the frame as it is encoded.
    let place: PixelBuffer.Rectangle

    /// Creates the placement; nil if nothing of the watermark is visible.
    init?(_ watermark: SampleUploader.Watermark, on size: BufferSize, _ orientation: FrameOrientation) {
        let (upright, image) = (size.oriented(by: orientation), watermark.image)
        guard watermark.scale > 0, 1...SampleUploader.OutputScale.Box.maximumSide ~= max(size.width, size.height) else {
            return nil
        }
        func pixels(_ fraction: Double, of side: Int) -> Int { Int(exactly: (fraction * Double(side)).rounded()) ?? 0 }
        let (x, y) = (pixels(watermark.x, of: upright.width), pixels(watermark.y, of: upright.height))
        let width = max(1, pixels(watermark.scale, of: upright.width))
        // Both factors are at most 65,500.
        let height = max(1, (2 * width * image.height + image.width) / (2 * image.width))
        let columns = (x..<x + width).clamped(to: 0..<upright.width)
        let rows = (y..<y + height).clamped(to: 0..<upright.height)
        guard !columns.isEmpty, !rows.isEmpty else { return nil }
        (self.watermark, self.size, self.orientation) = (watermark, size, orientation)
        scaled = BufferSize(width: width, height: height)
        part = .init(x: columns.lowerBound - x, y: rows.lowerBound - y, width: columns.count, height: rows.count)
        let (across, down) = orientation.swapsAxes ? (rows, columns) : (columns, rows)
        place = PixelBuffer.Rectangle(
            x: orientation.reversesColumns ? size.width - across.upperBound : across.lowerBound,
            y: orientation.reversesRows ? size.height - down.upperBound : down.lowerBound,
            width: across.count,
            height: down.count
        )
    }

    /// Returns the visible part as it lies on the frame, in `rgba`.
    func image() throws(TurboJPEGError) -> PixelBuffer {
        let image = try watermark.image.scaledWithAlpha(toWidth: scaled.width, height: scaled.height, part: part)
        // In the opposite direction: from what a viewer sees to the frame. All but a quarter of a turn undo themselves.
        let inverse: FrameOrientation = orientation == .left ? .right : orientation == .right ? .left : orientation
        return try image.upright(from: inverse)
    }
}

/// A watermark as it is drawn on frames of one format.
///
/// Each byte of a frame becomes a weighted mean of itself and the watermark's, rounded to the nearest: in the colors of
/// packed formats, and in the planes of planar ones, of which a chroma sample has the mean weight of its pixels.
final class DrawnWatermark: Sendable {
    private struct Sample {
        var value: UInt8
        /// How much of it shows, up to 255.
        let weight: UInt8
    }

    let placement: WatermarkPlacement
    let format: PixelFormat
    /// The part of the frame that is covered, in whole chroma samples.
    private let columns: Range<Int>
    private let rows: Range<Int>
    private let planes: [[Sample]]

    /// - Throws: `allocationFailed`.
    init(_ placement: WatermarkPlacement, _ format: PixelFormat) throws(TurboJPEGError) {
        func whole(_ start: Int, _ count: Int, _ side: Int) -> Range<Int> {
            start - start % 2..<min(start + count + (start + count) % 2, side)
        }
        let (image, place) = (try placement.image(), placement.place)
        let columns = whole(place.x, place.width, placement.size.width)
        let rows = whole(place.y, place.height, placement.size.height)
        var planes = [[Sample]](repeating: [], count: format.planeCount)
        let (stride, channels) = (image.plane(0).bytesPerRow, format.channelOffsets)
        image.withPlane(0) { bytes in
            /// Red, green, blue and weight at a place of the frame.
            func pixel(_ column: Int, _ row: Int) -> SIMD4<UInt8> {
                let (x, y) = (column - place.x, row - place.y)
                guard 0..<place.width ~= x, 0..<place.height ~= y else { return .zero }
                let start = y * stride + 4 * x
                return SIMD4(bytes[start], bytes[start + 1], bytes[start + 2], bytes[start + 3])
            }
            for row in rows {
                for column in columns {
                    let pixel = pixel(column, row)
                    guard format.bytesPerPixel > 1 else {
                        // As JFIF defines it.
                        let luma = (SIMD4<Double>(pixel) * SIMD4(0.299, 0.587, 0.114, 0)).sum()
                        planes[0].append(Sample(value: UInt8(rounding: luma), weight: pixel.w))
                        continue
                    }
                    let start = planes[0].count
                    // The byte that is no color is opaque.
                    planes[0] += repeatElement(Sample(value: 255, weight: pixel.w), count: format.bytesPerPixel)
                    planes[0][start + channels.red].value = pixel.x
                    planes[0][start + channels.green].value = pixel.y
                    planes[0][start + channels.blue].value = pixel.z
                }
            }
            guard format.isPlanar else { return }
            for row in Swift.stride(from: rows.lowerBound, to: rows.upperBound, by: 2) {
                for column in Swift.stride(from: columns.lowerBound, to: columns.upperBound, by: 2) {
                    let (right, bottom) = (min(column + 2, columns.upperBound), min(row + 2, rows.upperBound))
                    // Blue and red, each as much as it shows, and how much that is.
                    var sum = SIMD4<Double>.zero
                    for y in row..<bottom {
                        for x in column..<right {
                            let color = SIMD4<Double>(pixel(x, y))
                            let blueness = 128 + (color * SIMD4(-0.168736, -0.331264, 0.5, 0)).sum()
                            let redness = 128 + (color * SIMD4(0.5, -0.418688, -0.081312, 0)).sum()
                            sum += color.w * SIMD4(blueness, redness, 1, 0)
                        }
                    }
                    let weight = UInt8(rounding: sum.z / Double((right - column) * (bottom - row)))
                    let mean = sum / max(sum.z, 1)
                    planes[1].append(Sample(value: UInt8(rounding: mean.x), weight: weight))
                    planes[format == .nv12 ? 1 : 2].append(Sample(value: UInt8(rounding: mean.y), weight: weight))
                }
            }
        }
        (self.placement, self.format, self.columns, self.rows) = (placement, format, columns, rows)
        self.planes = planes
    }

    /// Draws on a frame, in memory of `pool` if anything else refers to the frame's own.
    ///
    /// - Throws: `allocationFailed`; `sizeMismatch` if the frame has another size or format.
    func draw(on image: inout PixelBuffer, pool: PixelBuffer.Pool = .init()) throws(TurboJPEGError) {
        guard image.format == format, image.size == placement.size else {
            throw TurboJPEGError(.sizeMismatch, "a watermark is for frames of another size or format")
        }
        if !image.isAlone { image = try image.copied(pool: pool) }
        for (plane, samples) in planes.enumerated() {
            let (factor, step) = (plane == 0 ? 1 : 2, format.bytesPerSample(plane: plane))
            let start = columns.lowerBound / factor * step
            let count = format.planeWidth(plane, width: columns.count) * step
            for row in 0..<format.planeHeight(plane, height: rows.count) {
                try image.withMutableRow(rows.lowerBound / factor + row, ofPlane: plane) { target in
                    unsafe samples.withUnsafeBufferPointer { samples in
                        for index in 0..<count {
                            let sample = unsafe samples[row * count + index]
                            let weight = UInt16(sample.weight)
                            let behind = unsafe UInt16(target[unchecked: start + index])
                            // At most 65,152: 255 times 255, and 127 for rounding.
                            let sum = UInt16(sample.value) &* weight &+ behind &* (255 &- weight) &+ 127
                            // Divided by 255, exactly for every such sum.
                            let mean = (sum &+ 1 &+ sum >> 8) >> 8
                            unsafe target[unchecked: start + index] = UInt8(truncatingIfNeeded: mean)
                        }
                    }
                }
            }
        }
    }
}

extension PixelBuffer {
    /// Returns a part of a packed image in another size, each pixel with the color and alpha of what it covers.
    ///
    /// Samples are weighted by their distance, up to one pixel of the larger of both images (bilinear interpolation, in
    /// the form that does not skip pixels), and colors by their alpha: what is transparent does not show. Only the part of
    /// the whole of `width` by `height` is computed, however large that is.
    ///
    /// - Returns: The part, in `rgba`.
    /// - Throws: `invalidSize` or `allocationFailed`.
    func scaledWithAlpha(toWidth width: Int, height: Int, part: Rectangle) throws(TurboJPEGError) -> PixelBuffer {
        let (step, channels) = (format.bytesPerPixel, format.channelOffsets)
        let alpha: Int? = format == .bgrx ? nil : format.opaqueOffset
        var result = try PixelBuffer(width: part.width, height: part.height, format: .rgba)
        let columns = (part.x..<part.x + part.width).map { scalingWeights(of: $0, in: width, from: self.width) }
        let used = (columns.first?.first?.sample ?? 0)...(columns.last?.last?.sample ?? 0)
        for y in 0..<part.height {
            // Red, green and blue, multiplied with alpha, and alpha.
            var sums = [SIMD4<Double>](repeating: .zero, count: self.width)
            for (row, weight) in scalingWeights(of: part.y + y, in: height, from: self.height) {
                withRow(row) { pixels in
                    for x in used {
                        let start = step * x
                        func value(_ channel: Int) -> Double { Double(pixels[start + channel]) }
                        let color = SIMD4(value(channels.red), value(channels.green), value(channels.blue), 1)
                        sums[x] += weight * (alpha.map(value) ?? 255) * color
                    }
                }
            }
            try result.withMutableRow(y) { target in
                for (x, column) in columns.enumerated() {
                    let sum = column.reduce(SIMD4<Double>.zero) { $0 + $1.weight * sums[$1.sample] }
                    // Below this, rounding leaves nothing of it.
                    let color = sum / (sum.w > 0.01 ? sum.w : 1)
                    for channel in 0..<3 { target[4 * x + channel] = UInt8(rounding: color[channel]) }
                    target[4 * x + 3] = UInt8(rounding: sum.w)
                }
            }
        }
        return result
    }
}

/// Returns the samples of a side of which one sample of a scaled side is made, and their weights, whose sum is 1.
private func scalingWeights(of index: Int, in target: Int, from source: Int) -> [(sample: Int, weight: Double)] {
    let ratio = Double(source) / Double(target)
    let (center, reach) = ((Double(index) + 0.5) * ratio, max(1, ratio))
    let first = max(0, Int(exactly: (center - reach).rounded(.down)) ?? 0)
    let end = min(source, Int(exactly: (center + reach).rounded(.up)) ?? source)
    let weights = (first..<max(first, end)).map { max(0, 1 - abs(Double($0) + 0.5 - center) / reach) }
    let scale = 1 / weights.reduce(0, +)
    return weights.enumerated().map { (first + $0, scale * $1) }
}

extension UInt8 {
    /// The nearest value to a number; 0 if it is not a number.
    fileprivate init(rounding value: Double) {
        self = value > 0 ? UInt8(exactly: value.rounded()) ?? .max : 0
    }
}
