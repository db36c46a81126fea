/// A few rows of an image that is made smaller, and the rows that they become: large images are worked on in bands, so
/// that what lies between two steps stays in the cache and takes no memory to speak of.
struct ScalingBand {
    let source: Range<Int>
    let target: Range<Int>

    /// Cuts two heights into bands that belong together.
    ///
    /// - Parameters:
    ///   - sourceHeight: The rows of the image.
    ///   - targetHeight: The rows that it gets, no more than it has.
    ///   - step: What the ends of all bands but the last are multiples of, in both.
    /// - Returns: The bands, from the top.
    static func all(sourceHeight: Int, targetHeight: Int, step: Int = 1) -> [ScalingBand] {
        let rows = max(1, 64 * targetHeight / sourceHeight / step) * step
        var bands: [ScalingBand] = []
        var (source, target) = (0, 0)
        while target < targetHeight {
            let targetEnd = min(target + rows, targetHeight)
            let sourceEnd =
                targetEnd == targetHeight ? sourceHeight : targetEnd * sourceHeight / targetHeight / step * step
            bands.append(ScalingBand(source: source..<sourceEnd, target: target..<targetEnd))
            (source, target) = (sourceEnd, targetEnd)
        }
        return bands
    }
}
