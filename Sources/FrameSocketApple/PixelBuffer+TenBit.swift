package import FrameSocket

extension PixelBuffer {
    /// Creates an NV12 image from two planes of 10-bit samples, as HDR content has them, by rounding each to 8 bits.
    ///
    /// - Parameters:
    ///   - planes: The first sample and the bytes per row of luma and of interleaved chroma. A sample is the upper 10 bits
    ///     of 16, in little-endian order.
    ///   - width: The width in pixels.
    ///   - height: The height in pixels; odd sides are rounded up in the chroma plane.
    /// - Throws: `invalidStride` if a row has no room for its samples, `invalidSize`, `allocationFailed`.
    @unsafe package init(
        tenBit planes: [(base: UnsafePointer<UInt8>, bytesPerRow: Int)],
        width: Int,
        height: Int
    ) throws(TurboJPEGError) {
        try self.init(width: width, height: height, format: .nv12)
        guard unsafe planes.count == planeCount else {
            throw unsafe TurboJPEGError(.byteCountMismatch, "10-bit NV12 has 2 planes; \(planes.count) were given")
        }
        for index in 0..<planeCount {
            let (base, bytesPerRow) = unsafe planes[index]
            guard bytesPerRow >= 2 * plane(index).visibleBytesPerRow else {
                throw TurboJPEGError(.invalidStride, "\(bytesPerRow) bytes per row are too few for 10-bit samples")
            }
            for row in 0..<plane(index).height {
                let source = unsafe base + row * bytesPerRow
                try withMutableRow(row, ofPlane: index) { target in
                    for column in target.indices {
                        let sample = unsafe UInt32(source[2 * column]) | UInt32(source[2 * column + 1]) << 8
                        target[column] = UInt8(clamping: (sample + 0x80) >> 8)
                    }
                }
            }
        }
    }
}
