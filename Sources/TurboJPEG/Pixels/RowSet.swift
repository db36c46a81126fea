/// A set of an image's rows.
package struct RowSet: Sendable, Hashable {
    private var words: [UInt64]

    /// Creates an empty set for an image of this height.
    package init(height: Int) {
        words = Array(repeating: 0, count: (height + 63) / 64)
    }

    /// Creates the set of all rows of an image.
    package init(allOf height: Int) {
        words = Array(repeating: .max, count: (height + 63) / 64)
        if height % 64 > 0 { words[height / 64] = 1 << UInt64(height % 64) - 1 }
    }

    /// Whether the set contains a row.
    package func contains(_ row: Int) -> Bool { words[row / 64] & (1 << UInt64(row % 64)) != 0 }

    /// Adds a row.
    package mutating func insert(_ row: Int) { words[row / 64] |= 1 << UInt64(row % 64) }

    /// Adds the rows of a range that lies within the image.
    package mutating func insert(_ rows: Range<Int>) {
        guard !rows.isEmpty else { return }
        for index in rows.lowerBound / 64...(rows.upperBound - 1) / 64 { words[index] |= Self.mask(rows, index) }
    }

    /// Removes every row.
    package mutating func removeAll() {
        for index in words.indices { words[index] = 0 }
    }

    /// Adds the rows of another set for the same height.
    package mutating func formUnion(_ other: RowSet) {
        for index in words.indices { words[index] |= other.words[index] }
    }

    /// Returns whether the set, which is for this height, contains every row.
    package func hasAll(of height: Int) -> Bool { next(from: 0, isContained: false).map { $0 >= height } ?? true }

    /// Whether the set contains no row.
    package var isEmpty: Bool { words.allSatisfy { $0 == 0 } }

    /// Whether the set contains any row of a range that lies within the image.
    package func overlaps(_ rows: Range<Int>) -> Bool {
        guard !rows.isEmpty else { return false }
        return (rows.lowerBound / 64...(rows.upperBound - 1) / 64).contains {
            words[$0] & Self.mask(rows, $0) != 0
        }
    }

    /// The ranges of rows that follow each other, from the top.
    package var ranges: [Range<Int>] {
        var ranges: [Range<Int>] = []
        var row = 0
        while let start = next(from: row, isContained: true) {
            row = next(from: start, isContained: false) ?? 64 * words.count
            ranges.append(start..<row)
        }
        return ranges
    }

    /// Returns the first row from a row on that is in the set, or is not; nil if there is none.
    private func next(from row: Int, isContained: Bool) -> Int? {
        var index = row / 64
        while index < words.count {
            var word = isContained ? words[index] : ~words[index]
            if index == row / 64 { word &= .max << UInt64(row % 64) }
            if word != 0 { return 64 * index + word.trailingZeroBitCount }
            index += 1
        }
        return nil
    }

    /// Returns the bits of a word that are rows of a range.
    private static func mask(_ rows: Range<Int>, _ index: Int) -> UInt64 {
        let (start, end) = (max(0, rows.lowerBound - 64 * index), min(64, rows.upperBound - 64 * index))
        guard start < end else { return 0 }
        return (.max >> UInt64(64 - (end - start))) << UInt64(start)
    }

    /// The smallest range that contains every row of the set; empty for an empty set.
    package var range: Range<Int> {
        guard let first = words.firstIndex(where: { $0 != 0 }), let last = words.lastIndex(where: { $0 != 0 }) else {
            return 0..<0
        }
        return 64 * first + words[first].trailingZeroBitCount..<64 * last + 64 - words[last].leadingZeroBitCount
    }
}
