extension PixelBuffer {
    /// Returns some rows of the image, as an image over the same memory.
    ///
    /// For planar images, the range must begin with an even row, and have an even count unless it reaches the end.
    func rows(_ rows: Range<Int>) throws(TurboJPEGError) -> PixelBuffer {
        let storage = storage
        var planes: [(base: UnsafePointer<UInt8>, bytesPerRow: Int)] = unsafe []
        for index in 0..<planeCount {
            let stride = storage.strides[index]
            let first = index == 0 ? rows.lowerBound : rows.lowerBound / 2
            unsafe planes.append((UnsafePointer(storage.bases[index] + first * stride), stride))
        }
        return try unsafe PixelBuffer(
            adopting: planes,
            width: width,
            height: rows.count,
            format: format
        ) { withExtendedLifetime(storage) {} }
    }

    /// Adds one visible row in every `step` to a hash.
    func add(to hash: inout ImageHash, every step: Int = 1) {
        for index in 0..<planeCount {
            let height = format.planeHeight(index, height: height)
            // A multiple of the step, at least two pages.
            let rowDistance = max(1, step * plane(index).bytesPerRow)
            let distance = (8_192 + rowDistance - 1) / rowDistance * rowDistance
            for row in stride(from: 0, to: height, by: step) {
                withRow(row, ofPlane: index) { hash.add($0, distance: distance) }
            }
        }
    }
}

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

    /// Removes a row.
    package mutating func remove(_ row: Int) { words[row / 64] &= ~(1 << UInt64(row % 64)) }

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
