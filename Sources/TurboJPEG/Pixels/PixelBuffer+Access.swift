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

    /// Copies all visible samples to the caller's memory.
    ///
    /// - Parameter planes: The first sample and the bytes per row of each of the format's planes.
    /// - Throws: `byteCountMismatch` if the number of planes is not the format's; `invalidStride` if a plane has no
    ///   room for its rows.
    @unsafe package func copySamples(
        to planes: [(base: UnsafeMutablePointer<UInt8>, bytesPerRow: Int)]
    ) throws(TurboJPEGError) {
        guard unsafe planes.count == planeCount else {
            throw TurboJPEGError(
                .byteCountMismatch,
                "\(format.rawValue) has \(planeCount) planes; \(unsafe planes.count) were given"
            )
        }
        for index in 0..<planeCount {
            let (shape, stride) = (plane(index), unsafe planes[index].bytesPerRow)
            guard stride >= shape.visibleBytesPerRow else {
                throw TurboJPEGError(
                    .invalidStride,
                    "a row of plane \(index) has \(shape.visibleBytesPerRow) bytes; the output has room for \(stride)"
                )
            }
            for row in 0..<shape.height {
                let source = unsafe storage.bases[index] + row * shape.bytesPerRow
                unsafe (planes[index].base + row * stride).update(from: source, count: shape.visibleBytesPerRow)
            }
        }
    }

    /// Copies all visible samples to the top left corner of an image of the same format.
    ///
    /// - Throws: `bufferTooSmall` if they do not fit there; `allocationFailed` if its memory is shared.
    package func copy(toCornerOf other: inout PixelBuffer) throws(TurboJPEGError) {
        try other.checkRoom(width: width, height: height)
        let coversAll = (width, height) == (other.width, other.height)
        try unsafe withUnsafePlanes { source throws(TurboJPEGError) in
            try unsafe other.withUnsafeMutablePlanes(preservingContents: !coversAll) { target in
                unsafe target.cropped(toWidth: width, height: height).copySamples(from: source)
            }
        }
    }

    /// Checks that an image of this size fits.
    ///
    /// - Throws: `bufferTooSmall`.
    func checkRoom(width: Int, height: Int) throws(TurboJPEGError) {
        guard width <= self.width, height <= self.height else {
            throw TurboJPEGError(
                .bufferTooSmall,
                "the image of \(width)x\(height) does not fit into the buffer of \(self.width)x\(self.height)"
            )
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
