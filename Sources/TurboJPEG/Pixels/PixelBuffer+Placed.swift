#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#elseif canImport(Darwin)
    internal import Darwin
#endif

/// Images in memory that belongs to somebody else, and is written by its owner alone.
extension PixelBuffer {
    /// Returns the number of bytes that an image takes, with rows that begin at multiples of 64 bytes.
    ///
    /// - Throws: `invalidSize`.
    package static func byteCount(width: Int, height: Int, format: PixelFormat) throws(TurboJPEGError) -> Int {
        try PixelLayout(width: width, height: height, format: format, bytesPerRow: nil).byteCount
    }

    /// Creates an image like another in memory of an owner, with the content that the memory has.
    ///
    /// It is never written through the image, except by ``copy(_:over:)``.
    ///
    /// - Parameters:
    ///   - memory: The memory, which begins at a multiple of 64 bytes.
    ///   - owner: The owner of the memory, which the image keeps.
    ///   - other: An image of the same size and format.
    /// - Throws: `byteCountMismatch` if the memory is too small.
    @unsafe package init(
        in memory: UnsafeMutableRawBufferPointer,
        of owner: some AnyObject & Sendable,
        like other: borrowing PixelBuffer
    ) throws(TurboJPEGError) {
        let (width, height, format) = (other.width, other.height, other.format)
        let layout = try PixelLayout(width: width, height: height, format: format, bytesPerRow: nil)
        guard let start = memory.baseAddress, memory.count >= layout.byteCount else {
            throw TurboJPEGError(
                .byteCountMismatch,
                "an image of \(width)x\(height) needs \(layout.byteCount) bytes, and there are \(memory.count)"
            )
        }
        let bytes = unsafe start.assumingMemoryBound(to: UInt8.self)
        let bases = unsafe PerPlane(
            bytes + layout.offsets[0],
            bytes + layout.offsets[1],
            bytes + layout.offsets[2]
        )
        let storage = unsafe PixelStorage(adopting: bases, strides: layout.strides) { withExtendedLifetime(owner) {} }
        self.init(width: width, height: height, format: format, storage: storage)
    }

    /// The number of rows of which the first is compared before the others.
    package static let rowsPerSample = 16

    /// Returns the rows in which this image differs from another of the same size and format.
    ///
    /// If every sampled row of the first plane differs, so does nearly every other row: the image is from a video, and
    /// reading both images would cost as much as copying one. The result then has all rows. In planar formats, a row of
    /// chroma belongs to two rows of the image.
    ///
    /// - Parameters:
    ///   - other: The image to compare with.
    ///   - damaged: The rows to compare, in whole pairs in planar formats; the others are known to be equal. Nil for all.
    /// - Returns: The rows.
    /// - Throws: `sizeMismatch`.
    package func rows(
        differingFrom other: PixelBuffer,
        within damaged: RowSet? = nil
    ) throws(TurboJPEGError) -> RowSet {
        try checkShape(of: other)
        return unsafe withUnsafePlanes { planes in
            unsafe other.withUnsafePlanes { others in
                func differs(_ row: Int, _ plane: Int) -> Bool {
                    let (first, second) = unsafe (planes[plane], others[plane])
                    return unsafe memcmp(first.row(row), second.row(row), first.shape.visibleBytesPerRow) != 0
                }
                if damaged == nil, stride(from: 0, to: height, by: Self.rowsPerSample).allSatisfy({ differs($0, 0) }) {
                    return RowSet(allOf: height)
                }
                var rows = RowSet(height: height)
                for range in damaged?.ranges ?? [0..<height] {
                    for plane in 0..<planeCount {
                        for row in plane == 0 ? range : range.lowerBound / 2..<(range.upperBound + 1) / 2
                        where differs(row, plane) {
                            if plane == 0 { rows.insert(row) } else { rows.insert(chromaRow: row, height: height) }
                        }
                    }
                }
                return rows
            }
        }
    }

    /// Copies rows over those of another image of the same size and format, even if it shares its memory; all of them if
    /// `rows` is nil.
    ///
    /// - Throws: `sizeMismatch`.
    @unsafe package func copy(_ rows: RowSet?, over other: borrowing PixelBuffer) throws(TurboJPEGError) {
        try checkShape(of: other)
        unsafe withUnsafePlanes { sources in
            unsafe other.withUnsafePlanes { targets in
                guard let rows, !rows.hasAll(of: height) else {
                    return unsafe targets.copySamples(from: sources)
                }
                for plane in 0..<planeCount {
                    let (source, target) = unsafe (sources[plane], targets[plane])
                    for row in 0..<(unsafe source.shape.height) {
                        guard plane == 0 ? rows.contains(row) : rows.contains(chromaRow: row, height: height) else {
                            continue
                        }
                        unsafe target.row(row).update(from: source.row(row), count: source.shape.visibleBytesPerRow)
                    }
                }
            }
        }
    }

    private func checkShape(of other: borrowing PixelBuffer) throws(TurboJPEGError) {
        guard (width, height) == (other.width, other.height), format == other.format else {
            throw TurboJPEGError(.sizeMismatch, "only images of the same size and format have rows to compare")
        }
    }
}

extension RowSet {
    fileprivate mutating func insert(chromaRow row: Int, height: Int) {
        insert(2 * row)
        if 2 * row + 1 < height { insert(2 * row + 1) }
    }

    fileprivate func contains(chromaRow row: Int, height: Int) -> Bool {
        contains(2 * row) || (2 * row + 1 < height && contains(2 * row + 1))
    }
}
