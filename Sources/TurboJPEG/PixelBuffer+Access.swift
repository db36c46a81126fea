extension PixelBuffer {
    /// Calls the body with the bytes of a plane, from its first sample to its last.
    ///
    /// Padding between the rows is part of the span, and undefined; padding after the last row is not. `plane(_:)` tells
    /// the distance between rows.
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

    /// Calls the body with the bytes of a plane, from its first sample to its last, for changing them.
    ///
    /// Where the memory is shared or adopted, the visible samples are copied first; rows keep their distance.
    ///
    /// - Precondition: `index` is in `0..<planeCount`.
    /// - Throws: `allocationFailed` where there is no memory for that copy.
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

    /// Calls the body with the visible bytes of one row of a plane.
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

    /// Calls the body with the visible bytes of one row of a plane, for changing them.
    ///
    /// - Precondition: `plane` is in `0..<planeCount`, and `row` in `0..<plane(plane).height`.
    /// - Throws: `allocationFailed` where shared memory had to be copied and there was none.
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

    /// Copies all visible samples into memory of somebody else.
    ///
    /// - Parameter planes: The first sample and the bytes per row of each of the format's planes.
    /// - Throws: `byteCountMismatch` if there are fewer planes than the format has, or more; `invalidStride` if one has no room
    ///   for its rows.
    @unsafe package func copySamples(
        to planes: [(base: UnsafeMutablePointer<UInt8>, bytesPerRow: Int)]
    ) throws(TurboJPEGError) {
        guard unsafe planes.count == planeCount else {
            throw TurboJPEGError(
                .byteCountMismatch,
                "\(format.name) has \(planeCount) planes, and \(unsafe planes.count) were given."
            )
        }
        for index in 0..<planeCount {
            let (shape, stride) = (plane(index), unsafe planes[index].bytesPerRow)
            guard stride >= shape.visibleBytesPerRow else {
                throw TurboJPEGError(
                    .invalidStride,
                    "A row of plane \(index) has \(shape.visibleBytesPerRow) bytes, and there is room for \(stride)."
                )
            }
            for row in 0..<shape.height {
                let source = unsafe storage.bases[index] + row * shape.bytesPerRow
                unsafe (planes[index].base + row * stride).update(from: source, count: shape.visibleBytesPerRow)
            }
        }
    }

    /// Calls the body with pointers to the planes, which it may only read, and only while it runs.
    package func withUnsafePlanes<Result: ~Copyable, Failure: Error>(
        _ body: (UnsafePlanes) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try unsafe body(UnsafePlanes(self))
    }

    /// Calls the body with pointers to the planes, which it may write, and only while it runs.
    ///
    /// - Parameters:
    ///   - preservingContents: False where the body writes every visible sample anyway: shared memory is then replaced
    ///     and not copied.
    ///   - body: Reads and writes.
    /// - Returns: What the body returns.
    /// - Throws: `allocationFailed`, and what the body throws.
    package mutating func withUnsafeMutablePlanes<Result: ~Copyable>(
        preservingContents: Bool = true,
        _ body: (UnsafePlanes) throws(TurboJPEGError) -> Result
    ) throws(TurboJPEGError) -> Result {
        try makeUnique(preservingContents: preservingContents)
        return try unsafe body(UnsafePlanes(self))
    }
}
