internal import CJPEGStrips

extension PixelFormat {
    /// The name of the format in the C functions for strips.
    var stripFormat: jpeg_strips_format {
        switch self {
        case .bgra, .bgrx: JPEG_STRIPS_BGRA
        case .rgba: JPEG_STRIPS_RGBA
        case .argb: JPEG_STRIPS_ARGB
        case .abgr: JPEG_STRIPS_ABGR
        case .rgb: JPEG_STRIPS_RGB
        case .bgr: JPEG_STRIPS_BGR
        case .gray: JPEG_STRIPS_GRAY
        case .i420: JPEG_STRIPS_PLANES
        case .nv12: JPEG_STRIPS_PAIRED_PLANES
        }
    }
}

extension UnsafePlanes {
    /// Returns the planes for the C functions, starting at a row, which must be even if the format is planar.
    ///
    /// The interleaved chroma of `nv12` is one plane, given twice.
    func stripPixels(from row: Int) -> jpeg_strips_pixels {
        var pixels = jpeg_strips_pixels()
        let first = unsafe self[0]
        unsafe (pixels.base.0, pixels.stride.0) = (first.row(row), first.shape.bytesPerRow)
        guard unsafe format.isPlanar else { return pixels }
        let (blue, red) = unsafe (self[1], self[format == .nv12 ? 1 : 2])
        unsafe (pixels.base.1, pixels.stride.1) = (blue.row(row / 2), blue.shape.bytesPerRow)
        unsafe (pixels.base.2, pixels.stride.2) = (red.row(row / 2), red.shape.bytesPerRow)
        return pixels
    }
}

/// A buffer for the text of an error in C.
struct StripMessage {
    private var bytes = [CChar](repeating: 0, count: Int(JPEG_STRIPS_MESSAGE_LENGTH))

    /// Calls a closure with the memory.
    mutating func withBytes<Result>(_ body: (UnsafeMutablePointer<CChar>?) -> Result) -> Result {
        unsafe bytes.withUnsafeMutableBufferPointer { unsafe body($0.baseAddress) }
    }

    /// The text that was written.
    var text: String {
        String(decoding: bytes.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
