extension PixelBuffer {
    /// Creates an image by copying raw bytes, such as a raw video frame.
    ///
    /// - Parameters:
    ///   - bytes: The planes, one directly after the other, each with all its rows; the last row may end with its last
    ///     sample. No further bytes are allowed.
    ///   - width: The width, 1 to 65,500 pixels.
    ///   - height: The height, 1 to 65,500 pixels.
    ///   - format: The arrangement of the bytes.
    ///   - bytesPerRow: The distance between rows of the first plane in `bytes`; nil if there is no padding. The
    ///     distance for chroma follows as in `init(width:height:format:bytesPerRow:zeroFilled:)`.
    /// - Throws: `invalidSize`, `invalidStride`, `allocationFailed`; `byteCountMismatch` if there are too few or too
    ///   many bytes.
    public init(
        copying bytes: Span<UInt8>,
        width: Int,
        height: Int,
        format: PixelFormat,
        bytesPerRow: Int? = nil
    ) throws(TurboJPEGError) {
        try PixelLayout.check(width: width, height: height)
        let strides = try PixelLayout.strides(
            width: width,
            height: height,
            format: format,
            bytesPerRow: bytesPerRow ?? width * format.bytesPerPixel
        )
        try PixelLayout.check(width: width, height: height, format: format, strides: strides)
        let full = Self.byteCount(height: height, format: format, strides: strides)
        let last = format.planeCount - 1
        let padding = strides[last] - format.planeWidth(last, width: width) * format.bytesPerSample(plane: last)
        guard full - padding...full ~= bytes.count else {
            throw TurboJPEGError(
                .byteCountMismatch,
                "\(width)x\(height) \(format.rawValue) with these rows has \(full) bytes; \(bytes.count) were given"
            )
        }
        try self.init(width: width, height: height, format: format)
        let target = unsafe UnsafePlanes(self)
        unsafe bytes.withUnsafeBufferPointer { source in
            guard var row = source.baseAddress else { return }
            for plane in 0..<format.planeCount {
                let shape = unsafe target[plane].shape
                for y in 0..<shape.height {
                    unsafe target[plane].row(y).update(from: row, count: shape.visibleBytesPerRow)
                    unsafe row += strides[plane]
                }
            }
        }
    }

    /// The number of bytes of all visible samples, without padding: what `copyPacked(into:)` writes.
    public var packedByteCount: Int {
        var count = 0
        for index in 0..<planeCount {
            let shape = plane(index)
            count += shape.visibleBytesPerRow * shape.height
        }
        return count
    }

    /// Appends the visible samples, row by row and plane by plane, without padding.
    ///
    /// - Throws: `bufferTooSmall` if the output has room for fewer than `packedByteCount` bytes; it is then unchanged.
    public func copyPacked(into output: inout OutputSpan<UInt8>) throws(TurboJPEGError) {
        guard output.freeCapacity >= packedByteCount else {
            throw TurboJPEGError(
                .bufferTooSmall,
                "the image has \(packedByteCount) bytes; the output has room for \(output.freeCapacity)"
            )
        }
        unsafe withUnsafePlanes { planes in
            unsafe output.withUnsafeMutableBufferPointer { target, count in
                guard let start = target.baseAddress else { return }
                for plane in 0..<planeCount {
                    let source = unsafe planes[plane]
                    for y in 0..<(unsafe source.shape.height) {
                        unsafe (start + count).update(from: source.row(y), count: source.shape.visibleBytesPerRow)
                        count += unsafe source.shape.visibleBytesPerRow
                    }
                }
            }
        }
    }

    /// Returns the size of all planes in bytes, with padding; sizes and strides were checked, so nothing overflows.
    private static func byteCount(height: Int, format: PixelFormat, strides: PerPlane<Int>) -> Int {
        var count = 0
        for plane in 0..<format.planeCount {
            count += strides[plane] * format.planeHeight(plane, height: height)
        }
        return count
    }
}
