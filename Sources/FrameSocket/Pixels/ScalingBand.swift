/// A band of rows of an image that is scaled down, and the resulting rows: large images are processed in bands, so that
/// intermediate results stay in the cache and take little memory.
struct ScalingBand {
    let source: Range<Int>
    let target: Range<Int>

    /// Divides two heights into corresponding bands.
    ///
    /// - Parameters:
    ///   - sourceHeight: The number of rows of the image.
    ///   - targetHeight: The number of rows of the result, no more than `sourceHeight`.
    ///   - step: The number of which the ends of all bands except the last are multiples, in both.
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
