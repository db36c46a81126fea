/// How the size of a JPEG depends on its quality.
enum JPEGSize {
    /// The quality whose sizes the others are compared with.
    static let reference = 80

    /// The sizes at some qualities, compared with that at 80: the means of this package's pictures of screens.
    ///
    /// Those of photographs fall faster.
    private static let ratios: [(quality: Int, ratio: Double)] = [
        (1, 0.25), (10, 0.35), (20, 0.46), (30, 0.55), (40, 0.62), (50, 0.68), (60, 0.75), (70, 0.86), (80, 1),
        (85, 1.11),
        (90, 1.3), (95, 1.67), (98, 2.13), (100, 2.7),
    ]

    /// Returns the expected size at a quality, compared with that at 80.
    static func ratio(_ quality: Int) -> Double {
        guard let upper = ratios.firstIndex(where: { $0.quality >= quality }), upper > 0 else { return ratios[0].ratio }
        let (low, high) = (ratios[upper - 1], ratios[upper])
        let part = Double(quality - low.quality) / Double(high.quality - low.quality)
        return low.ratio + part * (high.ratio - low.ratio)
    }

    /// Returns the highest quality in a range at which an image, of a size at 80, is expected to have at most so many bytes.
    static func quality(for byteCount: Double, _ size: Double, in range: ClosedRange<Int>) -> Int {
        var quality = range.upperBound
        while quality > range.lowerBound, size * ratio(quality) > byteCount { quality -= 1 }
        return quality
    }
}
