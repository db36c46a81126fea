extension PixelBuffer {
    /// Calls a closure with the bytes of a plane, from its first sample to its last.
    ///
    /// Padding between the rows is part of the span, and undefined; padding after the last row is not. `plane(_:)`
    /// returns the distance between rows.
    ///
    /// - Precondition: `index` is in `0..<planeCount`.
    public func withPlane<Result: ~Copyable, Failure: Error>(
        _ index: Int,
        _ body: (Span<UInt8>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let shape = plane(index)
        let bytes = unsafe UnsafeBufferPointer(start: storage.bases[index], count: shape.byteCount)
        return try unsafe body(bytes.span)
    }

    /// Calls a closure with the bytes of all planes, as a video encoder takes them.
    ///
    /// For I420, those of Y, Cb and Cr; for two planes, as in NV12, the second and third are the same; for one, all three.
    /// Each span begins with the plane's first sample and ends with its last; `plane(_:)` returns the distance between
    /// rows. For a C encoder, get the pointers with `withUnsafeBufferPointer`.
    public func withPlanes<Result: ~Copyable, Failure: Error>(
        _ body: (_ luma: Span<UInt8>, _ blue: Span<UInt8>, _ red: Span<UInt8>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try withPlane(0) { luma throws(Failure) in
            try withPlane(min(1, planeCount - 1)) { blue throws(Failure) in
                try withPlane(planeCount - 1) { red throws(Failure) in
                    try body(luma, blue, red)
                }
            }
        }
    }

    /// Calls a closure with the bytes of a plane, from its first sample to its last, which it may change.
    ///
    /// If the memory is shared or adopted, the visible samples are copied first, with the same distance between rows.
    ///
    /// - Precondition: `index` is in `0..<planeCount`.
    /// - Throws: `allocationFailed` if there is no memory for that copy.
    public mutating func withMutablePlane<Result: ~Copyable>(
        _ index: Int,
        _ body: (inout MutableSpan<UInt8>) -> Result
    ) throws(TurboJPEGError) -> Result {
        let shape = plane(index)
        try makeUnique()
        let bytes = unsafe UnsafeMutableBufferPointer(start: storage.bases[index], count: shape.byteCount)
        var span = unsafe bytes.mutableSpan
        return body(&span)
    }

    /// Calls a closure with the visible bytes of one row of a plane.
    ///
    /// - Precondition: `plane` is in `0..<planeCount`, and `row` in `0..<plane(plane).height`.
    public func withRow<Result: ~Copyable, Failure: Error>(
        _ row: Int,
        ofPlane plane: Int = 0,
        _ body: (Span<UInt8>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let shape = self.plane(plane)
        precondition(0..<shape.height ~= row, "The plane has \(shape.height) rows.")
        let start = unsafe storage.bases[plane] + row * shape.bytesPerRow
        return try unsafe body(UnsafeBufferPointer(start: start, count: shape.visibleBytesPerRow).span)
    }

    /// Calls a closure with the visible bytes of one row of a plane, which it may change.
    ///
    /// - Precondition: `plane` is in `0..<planeCount`, and `row` in `0..<plane(plane).height`.
    /// - Throws: `allocationFailed` if shared memory had to be copied and none was available.
    public mutating func withMutableRow<Result: ~Copyable>(
        _ row: Int,
        ofPlane plane: Int = 0,
        _ body: (inout MutableSpan<UInt8>) -> Result
    ) throws(TurboJPEGError) -> Result {
        let shape = self.plane(plane)
        precondition(0..<shape.height ~= row, "The plane has \(shape.height) rows.")
        try makeUnique()
        let start = unsafe storage.bases[plane] + row * shape.bytesPerRow
        var span = unsafe UnsafeMutableBufferPointer(start: start, count: shape.visibleBytesPerRow).mutableSpan
        return body(&span)
    }

    /// Copies all visible samples to the top left corner of an image of the same format.
    ///
    /// - Throws: `bufferTooSmall` if they do not fit there; `allocationFailed` if its memory is shared.
    package func copy(toCornerOf other: inout PixelBuffer) throws(TurboJPEGError) {
        guard width <= other.width, height <= other.height else {
            throw TurboJPEGError(
                .bufferTooSmall,
                "the image of \(width)x\(height) does not fit into the buffer of \(other.width)x\(other.height)"
            )
        }
        let coversAll = (width, height) == (other.width, other.height)
        try unsafe withUnsafePlanes { source throws(TurboJPEGError) in
            try unsafe other.withUnsafeMutablePlanes(preservingContents: !coversAll) { target in
                unsafe target.cropped(toWidth: width, height: height).copySamples(from: source)
            }
        }
    }

    /// Calls a closure with pointers to the planes, which are read-only and valid only while it runs.
    package func withUnsafePlanes<Result: ~Copyable, Failure: Error>(
        _ body: (UnsafePlanes) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try unsafe body(UnsafePlanes(self))
    }

    /// Calls a closure with pointers to the planes, which are writable and valid only while it runs.
    ///
    /// - Parameters:
    ///   - preservingContents: Whether shared memory is copied. Pass false if the closure writes every visible sample:
    ///     shared memory is then replaced without a copy.
    ///   - body: The closure that reads and writes.
    /// - Returns: The result of the closure.
    /// - Throws: `allocationFailed`, and any error of the closure.
    package mutating func withUnsafeMutablePlanes<Result: ~Copyable>(
        preservingContents: Bool = true,
        _ body: (UnsafePlanes) throws(TurboJPEGError) -> Result
    ) throws(TurboJPEGError) -> Result {
        try makeUnique(preservingContents: preservingContents)
        return try unsafe body(UnsafePlanes(self))
    }
}

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
