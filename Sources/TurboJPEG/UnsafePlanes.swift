/// One plane as code that works with pointers sees it.
///
/// From `withUnsafePlanes` it is only to be read, from `withUnsafeMutablePlanes` also written; it is valid inside the
/// closure alone.
@unsafe package struct UnsafePlane {
    /// The first sample.
    package let base: UnsafeMutablePointer<UInt8>
    /// The shape.
    package let shape: PixelPlane

    /// The first sample of a row.
    func row(_ row: Int) -> UnsafeMutablePointer<UInt8> {
        unsafe base + row * shape.bytesPerRow
    }
}

/// The planes of a picture as code that works with pointers sees them.
@unsafe package struct UnsafePlanes {
    /// The arrangement of the bytes.
    package let format: PixelFormat
    /// The width of the picture in pixels.
    package private(set) var width: Int
    /// The height of the picture in pixels.
    package private(set) var height: Int
    private let storage: PixelStorage

    init(_ buffer: borrowing PixelBuffer) {
        unsafe format = buffer.format
        unsafe width = buffer.width
        unsafe height = buffer.height
        unsafe storage = buffer.storage
    }

    /// One of the format's planes.
    package subscript(_ plane: Int) -> UnsafePlane {
        let shape = unsafe PixelPlane(
            width: format.planeWidth(plane, width: width),
            height: format.planeHeight(plane, height: height),
            bytesPerRow: storage.strides[plane],
            bytesPerSample: format.bytesPerSample(plane: plane)
        )
        return unsafe UnsafePlane(base: storage.bases[plane], shape: shape)
    }

    /// The top left part of the picture.
    func cropped(toWidth width: Int, height: Int) -> UnsafePlanes {
        var part = unsafe self
        unsafe part.width = width
        unsafe part.height = height
        return unsafe part
    }

    /// The chroma samples of a row of a planar picture, and the distance from one to the next.
    func chroma(row: Int) -> UnsafeChromaRow {
        let first = unsafe self[1].row(row)
        return unsafe format == .nv12
            ? UnsafeChromaRow(blue: first, red: first + 1, step: 2)
            : UnsafeChromaRow(blue: first, red: self[2].row(row), step: 1)
    }

    /// Copies all visible samples of a picture of the same size and format.
    func copySamples(from other: UnsafePlanes) {
        for plane in 0..<(unsafe format.planeCount) {
            let (source, target) = unsafe (other[plane], self[plane])
            for row in 0..<(unsafe target.shape.height) {
                unsafe target.row(row).update(from: source.row(row), count: target.shape.visibleBytesPerRow)
            }
        }
    }
}

/// A row of chroma, whether its two kinds lie apart or in turns.
@unsafe struct UnsafeChromaRow {
    let blue: UnsafeMutablePointer<UInt8>
    let red: UnsafeMutablePointer<UInt8>
    let step: Int
}
