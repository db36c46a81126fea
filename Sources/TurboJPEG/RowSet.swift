/// A set of an image's rows.
package struct RowSet: Sendable, Hashable {
    private var words: [UInt64]

    /// Creates an empty set for an image of this height.
    package init(height: Int) {
        words = Array(repeating: 0, count: (height + 63) / 64)
    }

    /// Whether the set contains a row.
    package func contains(_ row: Int) -> Bool { words[row / 64] & (1 << UInt64(row % 64)) != 0 }

    /// Adds a row.
    package mutating func insert(_ row: Int) { words[row / 64] |= 1 << UInt64(row % 64) }

    /// Adds the rows of another set for the same height.
    package mutating func formUnion(_ other: RowSet) {
        for index in words.indices { words[index] |= other.words[index] }
    }

    /// The smallest range that contains every row of the set; empty for an empty set.
    package var range: Range<Int> {
        guard let first = words.firstIndex(where: { $0 != 0 }), let last = words.lastIndex(where: { $0 != 0 }) else {
            return 0..<0
        }
        return 64 * first + words[first].trailingZeroBitCount..<64 * last + 64 - words[last].leadingZeroBitCount
    }
}
