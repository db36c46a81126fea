internal import TurboJPEG

/// A part of a plane, in the form that libyuv takes.
@unsafe struct UnsafeArea {
    let base: UnsafeMutablePointer<UInt8>
    let stride: Int32
    let width: Int32
    let height: Int32
    let bytesPerSample: Int

    /// The whole plane.
    init(_ plane: UnsafePlane) {
        let shape = unsafe plane.shape
        unsafe self.init(PixelBuffer.Rectangle(x: 0, y: 0, width: shape.width, height: shape.height), of: plane)
    }

    /// A part, in samples, that lies within the plane.
    init(_ part: PixelBuffer.Rectangle, of plane: UnsafePlane) {
        let shape = unsafe plane.shape
        unsafe base = plane.base + part.y * shape.bytesPerRow + part.x * shape.bytesPerSample
        unsafe stride = Int32(shape.bytesPerRow)
        unsafe width = Int32(part.width)
        unsafe height = Int32(part.height)
        unsafe bytesPerSample = shape.bytesPerSample
    }

    /// Memory without padding, for samples of one byte.
    init(_ base: UnsafeMutablePointer<UInt8>, width: Int32, height: Int32) {
        unsafe self.base = unsafe base
        unsafe stride = width
        unsafe self.width = width
        unsafe self.height = height
        unsafe bytesPerSample = 1
    }

    /// A part, in samples, that lies within the area.
    func part(_ columns: Range<Int>, _ rows: Range<Int>) -> UnsafeArea {
        unsafe UnsafeArea(
            base: base + rows.lowerBound * Int(stride) + columns.lowerBound * bytesPerSample,
            stride: stride,
            width: Int32(columns.count),
            height: Int32(rows.count),
            bytesPerSample: bytesPerSample
        )
    }

    /// Memory without padding.
    init(_ base: UnsafeMutablePointer<UInt8>, width: Int, height: Int, bytesPerSample: Int) {
        unsafe self.init(
            base: base,
            stride: Int32(width * bytesPerSample),
            width: Int32(width),
            height: Int32(height),
            bytesPerSample: bytesPerSample
        )
    }

    /// Some of the rows.
    func rows(_ rows: Range<Int>) -> UnsafeArea {
        unsafe part(0..<Int(width), rows)
    }

    private init(
        base: UnsafeMutablePointer<UInt8>,
        stride: Int32,
        width: Int32,
        height: Int32,
        bytesPerSample: Int
    ) {
        unsafe self.base = unsafe base
        unsafe self.stride = stride
        unsafe self.width = width
        unsafe self.height = height
        unsafe self.bytesPerSample = bytesPerSample
    }
}
