#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#elseif canImport(Darwin)
    internal import Darwin
#endif

/// The owner of memory that is lent to images.
package protocol PixelLender: AnyObject, Sendable {
    /// Whether an image in the memory may be changed there; if not, changing the image moves it to other memory.
    var isWritable: Bool { get }
}

/// Images in memory that another object owns and lends.
extension PixelBuffer {
    /// Returns the number of bytes that an image in lent memory takes.
    ///
    /// - Throws: `invalidSize`.
    package static func byteCount(width: Int, height: Int, format: PixelFormat) throws(TurboJPEGError) -> Int {
        try PixelLayout(width: width, height: height, format: format, bytesPerRow: nil).byteCount
    }

    /// Creates an image in lent memory, with the content that the memory has.
    ///
    /// The image may be written as long as the lender allows it. Copies of the value share the memory; a copy that is
    /// changed while it shares the memory moves to other memory. The lender is released with the last reference to its
    /// memory.
    ///
    /// - Parameters:
    ///   - memory: The memory, which begins at a multiple of 64 bytes.
    ///   - lender: The owner of the memory.
    ///   - width: The width, 1 to 65,500 pixels.
    ///   - height: The height, 1 to 65,500 pixels.
    ///   - format: The arrangement of the bytes.
    /// - Throws: `invalidSize`; `byteCountMismatch` if the memory is too small.
    @unsafe package init(
        in memory: UnsafeMutableRawBufferPointer,
        lentBy lender: any PixelLender,
        width: Int,
        height: Int,
        format: PixelFormat
    ) throws(TurboJPEGError) {
        let layout = try PixelLayout(width: width, height: height, format: format, bytesPerRow: nil)
        guard let start = memory.baseAddress, memory.count >= layout.byteCount else {
            throw TurboJPEGError(
                .byteCountMismatch,
                "an image of \(width)x\(height) needs \(layout.byteCount) bytes, and there are \(memory.count)"
            )
        }
        let bytes = unsafe start.assumingMemoryBound(to: UInt8.self)
        let storage = unsafe PixelStorage(layout: layout, in: bytes, lender: lender)
        self.init(width: width, height: height, format: format, storage: storage)
    }

    /// The owner of the memory, if it is lent.
    package var lender: (any PixelLender)? { storage.lender }

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
    ///   - replaced: Rows of which `replacement` is compared instead of this image, as in ``PixelOverlay/rows``.
    ///   - replacement: An image of the same size and format.
    ///   - damaged: The rows to compare, in whole pairs in planar formats; the others are known to be equal. Nil for all.
    /// - Returns: The rows.
    /// - Throws: `sizeMismatch`.
    package func rows(
        differingFrom other: PixelBuffer,
        replacing replaced: Range<Int> = 0..<0,
        by replacement: PixelBuffer? = nil,
        within damaged: RowSet? = nil
    ) throws(TurboJPEGError) -> RowSet {
        let replacement = replacement ?? self
        try checkShape(of: other)
        try checkShape(of: replacement)
        return unsafe withUnsafePlanes { planes in
            unsafe replacement.withUnsafePlanes { replacements in
                unsafe other.withUnsafePlanes { others in
                    func differs(_ row: Int, _ plane: Int) -> Bool {
                        let isReplaced = replaced.contains(plane == 0 ? row : 2 * row)
                        let first = unsafe isReplaced ? replacements[plane] : planes[plane]
                        let second = unsafe others[plane]
                        return unsafe memcmp(first.row(row), second.row(row), first.shape.visibleBytesPerRow) != 0
                    }
                    if damaged == nil,
                        stride(from: 0, to: height, by: Self.rowsPerSample).allSatisfy({ differs($0, 0) })
                    {
                        return RowSet(allOf: height)
                    }
                    var rows = RowSet(height: height)
                    func compare(_ range: Range<Int>, _ plane: Int) {
                        for row in range where differs(row, plane) {
                            if plane == 0 { rows.insert(row) } else { rows.insert(chromaRow: row, height: height) }
                        }
                    }
                    if let damaged {
                        for range in damaged.ranges {
                            for plane in 0..<planeCount {
                                compare(plane == 0 ? range : range.lowerBound / 2..<(range.upperBound + 1) / 2, plane)
                            }
                        }
                        return rows
                    }
                    for plane in 0..<planeCount { compare(0..<(unsafe planes[plane].shape.height), plane) }
                    return rows
                }
            }
        }
    }

    /// Copies rows to another image of the same size and format; all of them if `rows` is nil.
    ///
    /// - Throws: `sizeMismatch`, or `allocationFailed` if the other one's memory is shared.
    package func copy(_ rows: RowSet?, to other: inout PixelBuffer) throws(TurboJPEGError) {
        try checkShape(of: other)
        try unsafe withUnsafePlanes { sources throws(TurboJPEGError) in
            try unsafe other.withUnsafeMutablePlanes { targets throws(TurboJPEGError) in
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
