extension PixelBuffer {
    /// Some rows of the picture, as a picture over the same memory.
    ///
    /// The rows of planar pictures begin with an even one, and are even in number unless they reach to the end.
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

    /// Adds every so many of the visible rows to a hash.
    func add(to hash: inout PictureHash, every step: Int = 1) {
        for index in 0..<planeCount {
            let height = format.planeHeight(index, height: height)
            // Whole steps, two pages at least.
            let rowDistance = max(1, step * plane(index).bytesPerRow)
            let distance = (8_192 + rowDistance - 1) / rowDistance * rowDistance
            for row in stride(from: 0, to: height, by: step) {
                withRow(row, ofPlane: index) { hash.add($0, distance: distance) }
            }
        }
    }
}
