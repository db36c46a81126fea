/// The changes found from one image to the next.
package struct StripChanges: Sendable, Hashable {
    /// The rows of pixels that may differ, in ascending order with gaps between them; empty if none differ.
    package let rows: [Range<Int>]
    /// The number of strips that the image was divided into.
    package let stripCount: Int
    /// The number of strips that were encoded or decoded; the others were reused.
    package let codedCount: Int

    /// Creates a description of the changes.
    package init(rows: [Range<Int>], stripCount: Int, codedCount: Int) {
        self.rows = rows
        self.stripCount = stripCount
        self.codedCount = codedCount
    }

    /// Returns the same counts with all rows, if nothing is known of the previous image.
    func ofAllRows(_ height: Int) -> Self {
        Self(rows: [0..<height], stripCount: stripCount, codedCount: codedCount)
    }
}

extension [Range<Int>] {
    /// Appends a range, and joins it to the last one if they touch.
    mutating func appendJoining(_ range: Range<Int>) {
        guard let last, last.upperBound >= range.lowerBound else { return append(range) }
        self[count - 1] = last.lowerBound..<Swift.max(last.upperBound, range.upperBound)
    }
}
