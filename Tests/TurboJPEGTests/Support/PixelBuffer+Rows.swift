import Foundation
import TurboJPEG

extension PixelBuffer {
    /// The rows of pixels in which an image differs from another one; all if there is none or it has another shape.
    func rows(thatDifferFrom other: PixelBuffer?) -> Set<Int> {
        guard let other, (width, height, format) == (other.width, other.height, other.format) else {
            return Set(0..<height)
        }
        var rows: Set<Int> = []
        unsafe withUnsafePlanes { mine in
            unsafe other.withUnsafePlanes { theirs in
                for index in 0..<planeCount {
                    let (first, second) = unsafe (mine[index], theirs[index])
                    let shape = unsafe first.shape
                    for y in 0..<shape.height {
                        let offset = y * shape.bytesPerRow
                        let differs = unsafe memcmp(
                            first.base + offset,
                            second.base + offset,
                            shape.bytesPerSample * shape.width
                        )
                        if differs != 0 { rows.insert(index == 0 ? y : 2 * y) }
                    }
                }
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
