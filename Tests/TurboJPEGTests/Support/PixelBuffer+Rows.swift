import TurboJPEG

extension PixelBuffer {
    /// The rows of pixels in which a picture differs from another one; all where there is none or it has another shape.
    func rows(thatDifferFrom other: PixelBuffer?) -> Set<Int> {
        guard let other, (width, height, format) == (other.width, other.height, other.format) else {
            return Set(0..<height)
        }
        var rows: Set<Int> = []
        for index in 0..<planeCount {
            for y in 0..<plane(index).height where row(y, ofPlane: index) != other.row(y, ofPlane: index) {
                rows.insert(index == 0 ? y : 2 * y)
            }
        }
        return rows
    }
}

extension Set<Int> {
    func isSubset(of ranges: [Range<Int>]) -> Bool {
        allSatisfy { row in ranges.contains { $0.contains(row) } }
    }
}
