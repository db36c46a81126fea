internal import TurboJPEG

extension PixelBuffer {
    /// Returns a part of the image in another size, each pixel with the color and alpha of what it covers.
    ///
    /// Samples are weighted by their distance, up to one pixel of the larger of both images (bilinear interpolation, in
    /// the form that does not skip pixels), and colors by their alpha: what is transparent does not show. Only the part is
    /// computed, however large the whole is.
    ///
    /// - Parameters:
    ///   - width: The width of the whole in pixels.
    ///   - height: The height of the whole in pixels.
    ///   - part: A part of the whole.
    /// - Returns: The part, in `rgba`.
    /// - Throws: `unsupported` if the image is not in `rgba`; `invalidSize` or `allocationFailed`.
    func scaledWithAlpha(
        toWidth width: Int,
        height: Int,
        part: PixelBuffer.Rectangle
    ) throws(TurboJPEGError) -> PixelBuffer {
        guard format == .rgba else {
            throw TurboJPEGError(.unsupported, "only rgba is scaled with its alpha, not \(format.rawValue)")
        }
        var result = try PixelBuffer(width: part.width, height: part.height, format: .rgba)
        let columns = (part.x..<part.x + part.width).map { ScalingWeights(of: $0, in: width, from: self.width) }
        let used = (columns.first?.samples.lowerBound ?? 0)..<(columns.last?.samples.upperBound ?? 0)
        var sums = [AlphaSum](repeating: AlphaSum(), count: self.width)
        for y in 0..<part.height {
            for x in used { sums[x] = AlphaSum() }
            let weights = ScalingWeights(of: part.y + y, in: height, from: self.height)
            for row in weights.samples {
                let weight = weights[row]
                withRow(row) { pixels in
                    for x in used { sums[x].add(pixels, at: 4 * x, weight) }
                }
            }
            try result.withMutableRow(y) { target in
                for (x, column) in columns.enumerated() {
                    var sum = AlphaSum()
                    for sample in column.samples { sum.add(sums[sample], column[sample]) }
                    sum.write(to: &target, at: 4 * x)
                }
            }
        }
        return result
    }
}

/// The samples of a side that one sample of a scaled side is made of, and their weights, whose sum is 1.
private struct ScalingWeights {
    let samples: Range<Int>
    private let center: Double
    private let reach: Double
    private var scale: Double = 1

    init(of index: Int, in target: Int, from source: Int) {
        let ratio = Double(source) / Double(target)
        center = (Double(index) + 0.5) * ratio
        reach = max(1, ratio)
        let nearest = min(max(0, Int(exactly: center.rounded(.down)) ?? 0), source - 1)
        let first = Int(exactly: (center - reach).rounded(.down)) ?? nearest
        let last = Int(exactly: (center + reach).rounded(.up)) ?? nearest
        samples = max(0, min(first, nearest))..<min(source, max(last, nearest) + 1)
        let sum = samples.reduce(0) { $0 + self[$1] }
        if sum > 0 { scale = 1 / sum }
    }

    subscript(_ sample: Int) -> Double {
        scale * max(0, 1 - abs(Double(sample) + 0.5 - center) / reach)
    }
}

/// A weighted sum of pixels, with colors multiplied with alpha.
private struct AlphaSum {
    private var red = 0.0
    private var green = 0.0
    private var blue = 0.0
    private var alpha = 0.0

    mutating func add(_ pixels: Span<UInt8>, at offset: Int, _ weight: Double) {
        let share = weight * Double(pixels[offset + 3])
        red += share * Double(pixels[offset])
        green += share * Double(pixels[offset + 1])
        blue += share * Double(pixels[offset + 2])
        alpha += share
    }

    mutating func add(_ other: AlphaSum, _ weight: Double) {
        red += weight * other.red
        green += weight * other.green
        blue += weight * other.blue
        alpha += weight * other.alpha
    }

    func write(to pixels: inout MutableSpan<UInt8>, at offset: Int) {
        // Below this, rounding leaves nothing of it.
        let divisor = alpha > 0.01 ? alpha : 1
        pixels[offset] = UInt8(rounding: red / divisor)
        pixels[offset + 1] = UInt8(rounding: green / divisor)
        pixels[offset + 2] = UInt8(rounding: blue / divisor)
        pixels[offset + 3] = UInt8(rounding: alpha)
    }
}
