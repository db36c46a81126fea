#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#elseif canImport(Darwin)
    internal import Darwin
#endif

/// Images in memory that another object owns and lends.
extension PixelBuffer {
    /// Returns the number of bytes that an image in lent memory takes.
    ///
    /// - Throws: `invalidSize`.
    package static func byteCount(width: Int, height: Int, format: PixelFormat) throws(TurboJPEGError) -> Int {
        try PixelLayout(width: width, height: height, format: format, bytesPerRow: nil).byteCount
    }

    /// Creates an image in lent memory; the content is what the memory has.
    ///
    /// The image may be written. Copies of the value share the memory, and one that is changed while it is shared moves
    /// to memory of its own. The lender is released with the last reference to its memory.
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
        lentBy lender: any AnyObject & Sendable,
        width: Int,
        height: Int,
        format: PixelFormat
    ) throws(TurboJPEGError) {
        let layout = try PixelLayout(width: width, height: height, format: format, bytesPerRow: nil)
        guard let start = memory.baseAddress, memory.count >= layout.byteCount else {
            throw TurboJPEGError(
                .byteCountMismatch,
                "An image of \(width)x\(height) needs \(layout.byteCount) bytes, and there are \(memory.count)."
            )
        }
        let bytes = unsafe start.assumingMemoryBound(to: UInt8.self)
        let storage = unsafe PixelStorage(layout: layout, in: bytes, lender: lender)
        self.init(width: width, height: height, format: format, storage: storage)
    }

    /// The owner of the memory, if it is lent.
    package var lender: (any AnyObject & Sendable)? { storage.lender }

    /// Copies the rows in which this image differs from another of the same size and format.
    ///
    /// - Returns: The range of rows from the first that differs to the last; empty if the images are the same.
    /// - Throws: `sizeMismatch`, or `allocationFailed` if the other one's memory is shared.
    package func copyChangedRows(to other: inout PixelBuffer) throws(TurboJPEGError) -> Range<Int> {
        guard (width, height) == (other.width, other.height), format == other.format else {
            throw TurboJPEGError(.sizeMismatch, "Only images of the same size and format have rows to compare.")
        }
        return try unsafe withUnsafePlanes { sources throws(TurboJPEGError) in
            try unsafe other.withUnsafeMutablePlanes { targets throws(TurboJPEGError) in
                var changed = 0..<0
                for plane in 0..<planeCount {
                    let rows = unsafe sources[plane].copyChangedRows(to: targets[plane])
                    guard !rows.isEmpty else { continue }
                    // A row of chroma belongs to two rows of the image.
                    let scale = plane == 0 ? 1 : 2
                    let range = rows.lowerBound * scale..<min(rows.upperBound * scale, height)
                    changed = changed.isEmpty ? range : changed.union(range)
                }
                return changed
            }
        }
    }
}

extension UnsafePlane {
    fileprivate func copyChangedRows(to other: UnsafePlane) -> Range<Int> {
        let byteCount = unsafe shape.visibleBytesPerRow
        var (first, end) = (0, 0)
        for index in 0..<(unsafe shape.height) {
            let (source, target) = unsafe (row(index), other.row(index))
            guard unsafe memcmp(source, target, byteCount) != 0 else { continue }
            unsafe target.update(from: source, count: byteCount)
            if end == 0 { first = index }
            end = index + 1
        }
        return first..<end
    }
}

extension Range<Int> {
    /// Returns the smallest range that contains both.
    package func union(_ other: Range<Int>) -> Range<Int> {
        Swift.min(lowerBound, other.lowerBound)..<Swift.max(upperBound, other.upperBound)
    }
}
