extension PixelBuffer {
    /// Returns some rows of the image, as an image over the same memory.
    ///
    /// For planar images, the range must begin with an even row, and have an even count unless it reaches the end.
    func rows(_ rows: Range<Int>) -> PixelBuffer {
        let storage = storage
        var bases = unsafe storage.bases
        for index in 0..<planeCount {
            let first = index == 0 ? rows.lowerBound : rows.lowerBound / 2
            unsafe bases[index] += first * storage.strides[index]
        }
        let part = unsafe PixelStorage(adopting: bases, strides: storage.strides) { withExtendedLifetime(storage) {} }
        return PixelBuffer(width: width, height: rows.count, format: format, storage: part)
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
