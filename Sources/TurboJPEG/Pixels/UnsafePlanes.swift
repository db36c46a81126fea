/// A plane for code that works with pointers.
///
/// A plane from `withUnsafePlanes` is read-only; one from `withUnsafeMutablePlanes` is also writable. It is valid only
/// inside the closure.
@unsafe package struct UnsafePlane {
    /// The first sample.
    package let base: UnsafeMutablePointer<UInt8>
    /// The shape of the plane.
    package let shape: PixelBuffer.Plane

    /// Returns the first sample of a row.
    func row(_ row: Int) -> UnsafeMutablePointer<UInt8> {
        unsafe base + row * shape.bytesPerRow
    }
}

/// The planes of an image for code that works with pointers.
@unsafe package struct UnsafePlanes {
    /// The arrangement of the bytes.
    package let format: PixelFormat
    /// The width of the image in pixels.
    package private(set) var width: Int
    /// The height of the image in pixels.
    package private(set) var height: Int
    private let storage: PixelStorage

    init(_ buffer: borrowing PixelBuffer) {
        unsafe format = buffer.format
        unsafe width = buffer.width
        unsafe height = buffer.height
        unsafe storage = buffer.storage
    }

    /// Returns one of the format's planes.
    package subscript(_ plane: Int) -> UnsafePlane {
        let shape = unsafe PixelBuffer.Plane(
            width: format.planeWidth(plane, width: width),
            height: format.planeHeight(plane, height: height),
            bytesPerRow: storage.strides[plane],
            bytesPerSample: format.bytesPerSample(plane: plane)
        )
        return unsafe UnsafePlane(base: storage.bases[plane], shape: shape)
    }

    /// Returns the top left part of the image.
    func cropped(toWidth width: Int, height: Int) -> UnsafePlanes {
        var part = unsafe self
        unsafe part.width = width
        unsafe part.height = height
        return unsafe part
    }

    /// Returns the chroma samples of a row of a planar image, and the distance from one to the next.
    func chroma(row: Int) -> UnsafeChromaRow {
        let first = unsafe self[1].row(row)
        return unsafe format == .nv12
            ? UnsafeChromaRow(blue: first, red: first + 1, step: 2)
            : UnsafeChromaRow(blue: first, red: self[2].row(row), step: 1)
    }

    /// The most bytes that one call copies.
    ///
    /// The C library would write images as large as a last-level cache past the caches, and whoever reads them next
    /// would wait for memory.
    private static let pieceByteCount = 1 << 20

    /// Copies all visible samples of an image of the same size and format.
    func copySamples(from other: UnsafePlanes) {
        for plane in 0..<(unsafe format.planeCount) {
            let (source, target) = unsafe (other[plane], self[plane])
            let shape = unsafe target.shape
            // Few copies of many rows are faster than a copy of each; padding, of unknown content, is not copied.
            if shape.bytesPerRow == shape.visibleBytesPerRow, unsafe source.shape.bytesPerRow == shape.bytesPerRow {
                let step = unsafe max(1, Self.pieceByteCount / shape.bytesPerRow)
                for row in stride(from: 0, to: shape.height, by: step) {
                    let byteCount = min(step, shape.height - row) * shape.bytesPerRow
                    unsafe target.row(row).update(from: source.row(row), count: byteCount)
                }
                continue
            }
            for row in 0..<shape.height {
                unsafe target.row(row).update(from: source.row(row), count: shape.visibleBytesPerRow)
            }
        }
    }
}

/// A row of chroma, separate or interleaved.
@unsafe struct UnsafeChromaRow {
    let blue: UnsafeMutablePointer<UInt8>
    let red: UnsafeMutablePointer<UInt8>
    let step: Int
}
