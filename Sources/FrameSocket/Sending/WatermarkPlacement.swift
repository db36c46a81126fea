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
    /// What is visible of that.
    private let (columns, rows): (Range<Int>, Range<Int>)
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
        self.columns = columns.lowerBound - x..<columns.upperBound - x
        self.rows = rows.lowerBound - y..<rows.upperBound - y
        let (across, down) = orientation.swapsAxes ? (rows, columns) : (columns, rows)
        place = PixelBuffer.Rectangle(
            x: orientation.reversesColumns ? size.width - across.upperBound : across.lowerBound,
            y: orientation.reversesRows ? size.height - down.upperBound : down.lowerBound,
            width: across.count,
            height: down.count
        )
    }

    /// Returns red, green, blue and alpha of the visible part as it lies on the frame, row after row.
    ///
    /// Samples are weighted by their distance, up to one pixel of the larger of both images (bilinear interpolation, in
    /// the form that does not skip pixels), and colors by their alpha: what is transparent does not show.
    func pixels() -> [SIMD4<UInt8>] {
        let (image, format) = (watermark.image, watermark.image.format)
        let (step, stride, channels) = (format.bytesPerPixel, image.plane(0).bytesPerRow, format.channelOffsets)
        let alpha: Int? = format == .bgrx ? nil : format.opaqueOffset
        let columns = columns.map { scalingWeights(of: $0, in: scaled.width, from: image.width) }
        let rows = rows.map { scalingWeights(of: $0, in: scaled.height, from: image.height) }
        return image.withPlane(0) { bytes in
            func pixel(_ x: Int, _ y: Int) -> SIMD4<UInt8> {
                // Red, green and blue, multiplied with alpha, and alpha.
                var sum = SIMD4<Double>.zero
                for row in rows[y] {
                    for column in columns[x] {
                        let start = row.sample * stride + column.sample * step
                        func value(_ channel: Int) -> Double { Double(bytes[start + channel]) }
                        let color = SIMD4(value(channels.red), value(channels.green), value(channels.blue), 1)
                        sum += row.weight * column.weight * (alpha.map(value) ?? 255) * color
                    }
                }
                // Below this, rounding leaves nothing of it.
                var color = sum / (sum.w > 0.01 ? sum.w : 1)
                color.w = sum.w
                return SIMD4(color + 0.5)
            }
            return (0..<place.width * place.height).map { index in
                let (row, column) = index.quotientAndRemainder(dividingBy: place.width)
                let across = orientation.reversesColumns ? place.width - 1 - column : column
                let down = orientation.reversesRows ? place.height - 1 - row : row
                return orientation.swapsAxes ? pixel(down, across) : pixel(across, down)
            }
        }
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

    init(_ placement: WatermarkPlacement, _ format: PixelFormat) {
        func whole(_ start: Int, _ count: Int, _ side: Int) -> Range<Int> {
            start - start % 2..<min(start + count + (start + count) % 2, side)
        }
        let (pixels, place) = (placement.pixels(), placement.place)
        let columns = whole(place.x, place.width, placement.size.width)
        let rows = whole(place.y, place.height, placement.size.height)
        planes = (0..<format.planeCount).map { plane in
            let (side, channels) = (plane == 0 ? 1 : 2, Self.channels(of: format, plane))
            var samples: [Sample] = []
            for top in stride(from: rows.lowerBound, to: rows.upperBound, by: side) {
                for left in stride(from: columns.lowerBound, to: columns.upperBound, by: side) {
                    // Red, green, blue and one, each as much as it shows, of the pixels that share the sample.
                    var (sum, count) = (SIMD4<Double>.zero, 0.0)
                    for row in top..<min(top + side, rows.upperBound) {
                        for column in left..<min(left + side, columns.upperBound) {
                            count += 1
                            let (x, y) = (column - place.x, row - place.y)
                            guard 0..<place.width ~= x, 0..<place.height ~= y else { continue }
                            var color = SIMD4<Double>(pixels[y * place.width + x])
                            let alpha = color.w
                            color.w = 1
                            sum += alpha * color
                        }
                    }
                    let (mean, weight) = (sum / max(sum.w, 1), UInt8(sum.w / count + 0.5))
                    for channel in channels {
                        samples.append(Sample(value: UInt8(min((channel * mean).sum() + 0.5, 255)), weight: weight))
                    }
                }
            }
            return samples
        }
        (self.placement, self.format, self.columns, self.rows) = (placement, format, columns, rows)
    }

    /// How much red, green, blue and one there are in each byte of a sample.
    private static func channels(of format: PixelFormat, _ plane: Int) -> [SIMD4<Double>] {
        // As JFIF defines them.
        let (blueness, redness) = (SIMD4(-0.168736, -0.331264, 0.5, 128), SIMD4(0.5, -0.418688, -0.081312, 128))
        if plane > 0 { return format == .nv12 ? [blueness, redness] : plane == 1 ? [blueness] : [redness] }
        guard format.bytesPerPixel > 1 else { return [SIMD4(0.299, 0.587, 0.114, 0)] }
        // A byte that is no color is opaque.
        var channels = [SIMD4<Double>](repeating: [0, 0, 0, 255], count: format.bytesPerPixel)
        let offsets = format.channelOffsets
        for (color, offset) in [offsets.red, offsets.green, offsets.blue].enumerated() {
            channels[offset] = .zero
            channels[offset][color] = 1
        }
        return channels
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

/// Returns the samples of a side of which one sample of a scaled side is made, and their weights, whose sum is 1.
private func scalingWeights(of index: Int, in target: Int, from source: Int) -> [(sample: Int, weight: Double)] {
    let ratio = Double(source) / Double(target)
    let (center, reach) = ((Double(index) + 0.5) * ratio, max(1, ratio))
    let first = max(0, Int(exactly: (center - reach).rounded(.down)) ?? 0)
    let end = min(source, Int(exactly: (center + reach).rounded(.up)) ?? source)
    let weights = (first..<max(first, end)).map { max(0, 1 - abs(Double($0) + 0.5 - center) / reach) }
    let scale = 1 / weights.reduce(0, +)
    return weights.enumerated().compactMap { $1 > 0 ? (first + $0, scale * $1) : nil }
}
