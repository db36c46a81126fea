internal import FrameWire
internal import TurboJPEG

/// Where a watermark comes to lie on frames of one size and orientation, and how much of it is visible.
///
/// A reference: most recipes have none, and stay small.
final class WatermarkPlacement: Sendable, Equatable {
    let watermark: SampleUploader.Watermark
    /// The size of the frames, as they are encoded.
    let size: BufferSize
    /// The orientation that their header states.
    let orientation: FrameOrientation
    /// The size that the watermark is scaled to, all of it; upright.
    let scaled: BufferSize
    /// The visible part of the scaled watermark.
    let part: PixelBuffer.Rectangle
    /// The place of that part on the frame as it is encoded.
    let place: PixelBuffer.Rectangle

    /// Creates the placement; nil if nothing of the watermark is visible.
    init?(_ watermark: SampleUploader.Watermark, on size: BufferSize, _ orientation: FrameOrientation) {
        let upright = size.oriented(by: orientation)
        guard watermark.scale > 0, 1...SampleUploader.OutputScale.Box.maximumSide ~= max(size.width, size.height) else {
            return nil
        }
        func pixels(_ fraction: Double, of side: Int) -> Int { Int(exactly: (fraction * Double(side)).rounded()) ?? 0 }
        let width = max(1, pixels(watermark.scale, of: upright.width))
        let image = watermark.image
        // Both factors are at most 65,500.
        let height = max(1, (2 * width * image.height + image.width) / (2 * image.width))
        func visible(_ start: Int, _ length: Int, _ side: Int) -> Range<Int> {
            (start..<start + length).clamped(to: 0..<side)
        }
        let (x, y) = (pixels(watermark.x, of: upright.width), pixels(watermark.y, of: upright.height))
        let (columns, rows) = (visible(x, width, upright.width), visible(y, height, upright.height))
        guard !columns.isEmpty, !rows.isEmpty else { return nil }
        (self.watermark, self.size, self.orientation) = (watermark, size, orientation)
        scaled = BufferSize(width: width, height: height)
        part = PixelBuffer.Rectangle(
            x: columns.lowerBound - x,
            y: rows.lowerBound - y,
            width: columns.count,
            height: rows.count
        )
        let (across, down) = orientation.swapsAxes ? (rows, columns) : (columns, rows)
        place = PixelBuffer.Rectangle(
            x: orientation.reversesColumns ? size.width - across.upperBound : across.lowerBound,
            y: orientation.reversesRows ? size.height - down.upperBound : down.lowerBound,
            width: across.count,
            height: down.count
        )
    }

    /// Returns whether the watermark is drawn in the same way by both.
    static func == (one: WatermarkPlacement, other: WatermarkPlacement) -> Bool {
        one === other
            || (one.size == other.size && one.orientation == other.orientation && one.watermark == other.watermark)
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
        var value: UInt8 = 0
        /// How much of it shows, up to 255.
        var weight: UInt8 = 0
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
        let (step, channels) = (format.bytesPerPixel, format.channelOffsets)
        let chromaWidth = format.isPlanar ? format.planeWidth(1, width: columns.count) : 0
        var planes = (0..<format.planeCount).map { plane in
            let count = format.planeWidth(plane, width: columns.count) * format.planeHeight(plane, height: rows.count)
            return [Sample](repeating: Sample(), count: count * format.bytesPerSample(plane: plane))
        }
        // Blue and red of the chroma, each as much as it shows, and how much that is.
        var chroma = [SIMD4<Double>](repeating: .zero, count: chromaWidth)
        for row in rows {
            if place.y..<place.y + place.height ~= row {
                image.withRow(row - place.y) { pixels in
                    for x in 0..<place.width {
                        let column = x + place.x - columns.lowerBound
                        let start = ((row - rows.lowerBound) * columns.count + column) * step
                        let (red, green, blue) = (pixels[4 * x], pixels[4 * x + 1], pixels[4 * x + 2])
                        let weight = pixels[4 * x + 3]
                        guard step == 1 else {
                            planes[0][start + channels.red] = Sample(value: red, weight: weight)
                            planes[0][start + channels.green] = Sample(value: green, weight: weight)
                            planes[0][start + channels.blue] = Sample(value: blue, weight: weight)
                            if let opaque = format.opaqueOffset {
                                planes[0][start + opaque] = Sample(value: 255, weight: weight)
                            }
                            continue
                        }
                        // As JFIF defines them.
                        let color = SIMD4(Double(red), Double(green), Double(blue), 0)
                        let luma = (color * SIMD4(0.299, 0.587, 0.114, 0)).sum()
                        planes[0][start] = Sample(value: UInt8(rounding: luma), weight: weight)
                        guard chromaWidth > 0 else { continue }
                        let blueness = 128 + (color * SIMD4(-0.168736, -0.331264, 0.5, 0)).sum()
                        let redness = 128 + (color * SIMD4(0.5, -0.418688, -0.081312, 0)).sum()
                        chroma[column / 2] += Double(weight) * SIMD4(blueness, redness, 1, 0)
                    }
                }
            }
            guard row % 2 == 1 || row == rows.upperBound - 1 else { continue }
            for (column, sum) in chroma.enumerated() where sum.z > 0 {
                let pixelCount = min(2, columns.count - 2 * column) * (row % 2 + 1)
                let weight = UInt8(rounding: sum.z / Double(pixelCount))
                let blue = Sample(value: UInt8(rounding: sum.x / sum.z), weight: weight)
                let red = Sample(value: UInt8(rounding: sum.y / sum.z), weight: weight)
                let index = (row - rows.lowerBound) / 2 * chromaWidth + column
                if format == .nv12 {
                    (planes[1][2 * index], planes[1][2 * index + 1]) = (blue, red)
                } else {
                    (planes[1][index], planes[2][index]) = (blue, red)
                }
                chroma[column] = .zero
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
    func scaledWithAlpha(
        toWidth width: Int,
        height: Int,
        part: PixelBuffer.Rectangle
    ) throws(TurboJPEGError) -> PixelBuffer {
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
                        let color = SIMD4(
                            Double(pixels[start + channels.red]),
                            Double(pixels[start + channels.green]),
                            Double(pixels[start + channels.blue]),
                            1
                        )
                        sums[x] += weight * (alpha.map { Double(pixels[start + $0]) } ?? 255) * color
                    }
                }
            }
            try result.withMutableRow(y) { target in
                for (x, column) in columns.enumerated() {
                    let sum = column.reduce(SIMD4<Double>.zero) { $0 + $1.weight * sums[$1.sample] }
                    // Below this, rounding leaves nothing of it.
                    let color = sum / (sum.w > 0.01 ? sum.w : 1)
                    target[4 * x] = UInt8(rounding: color.x)
                    target[4 * x + 1] = UInt8(rounding: color.y)
                    target[4 * x + 2] = UInt8(rounding: color.z)
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
