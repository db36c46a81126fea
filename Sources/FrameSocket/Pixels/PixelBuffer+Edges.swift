internal import TurboJPEG

extension PixelBuffer {
    /// Returns a copy of at least this size, in which the last column is repeated to the right, and the last row downwards.
    ///
    /// - Throws: `allocationFailed` if there is no memory, or the errors of a size that no buffer can have.
    func extended(
        toWidth wantedWidth: Int,
        height wantedHeight: Int,
        pool: PixelBuffer.Pool
    ) throws(TurboJPEGError) -> PixelBuffer {
        var copy = try pool.buffer(width: max(width, wantedWidth), height: max(height, wantedHeight), format: format)
        try unsafe copy.withUnsafeMutablePlanes { planes throws(TurboJPEGError) in
            unsafe try copySamples(to: (0..<planeCount).map { unsafe (planes[$0].base, planes[$0].shape.bytesPerRow) })
        }
        try copy.extendEdges(ofWidth: width, height: height)
        return copy
    }

    /// Extends a part at the top left by repeating its last column to the right and its last row downwards.
    ///
    /// - Parameters:
    ///   - partWidth: The width of the part in pixels, from 1 to the buffer's.
    ///   - partHeight: The height of the part in pixels, from 1 to the buffer's.
    /// - Throws: `allocationFailed` if shared memory had to be copied and there was none.
    private mutating func extendEdges(ofWidth partWidth: Int, height partHeight: Int) throws(TurboJPEGError) {
        let part = try cropped(toWidth: partWidth, height: partHeight)
        let shapes = (0..<planeCount).map { part.plane($0) }
        // The crop shares this buffer's memory; it must be released, or the write below would copy everything.
        _ = consume part
        try unsafe withUnsafeMutablePlanes { planes in
            for (index, inner) in shapes.enumerated() {
                let outer = unsafe planes[index]
                for row in 0..<inner.height {
                    let end = unsafe outer.base + row * inner.bytesPerRow + inner.visibleBytesPerRow
                    for byte in unsafe 0..<(outer.shape.visibleBytesPerRow - inner.visibleBytesPerRow) {
                        unsafe end[byte] = end[byte - inner.bytesPerSample]
                    }
                }
                let last = unsafe outer.base + (inner.height - 1) * inner.bytesPerRow
                for row in unsafe inner.height..<outer.shape.height {
                    unsafe (outer.base + row * inner.bytesPerRow).update(
                        from: last,
                        count: outer.shape.visibleBytesPerRow
                    )
                }
            }
        }
    }
}
