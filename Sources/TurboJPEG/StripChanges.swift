/// What was found to have changed from one picture to the next.
public struct StripChanges: Sendable, Hashable {
    /// The rows of pixels that may differ, in ascending order, with gaps between them; empty where none do.
    public let rows: [Range<Int>]
    /// How many strips the picture was cut into.
    public let stripCount: Int
    /// How many of them were encoded or decoded; the others were kept.
    public let codedCount: Int

    /// Changes of strips, of which some were coded.
    package init(rows: [Range<Int>], stripCount: Int, codedCount: Int) {
        self.rows = rows
        self.stripCount = stripCount
        self.codedCount = codedCount
    }

    /// The same, where nothing is known of the picture before.
    func ofAllRows(_ height: Int) -> Self {
        Self(rows: [0..<height], stripCount: stripCount, codedCount: codedCount)
    }
}

extension [Range<Int>] {
    /// Adds a range behind the others, as part of the last one where they touch.
    mutating func appendJoining(_ range: Range<Int>) {
        guard let last, last.upperBound >= range.lowerBound else { return append(range) }
        self[count - 1] = last.lowerBound..<Swift.max(last.upperBound, range.upperBound)
    }
}
