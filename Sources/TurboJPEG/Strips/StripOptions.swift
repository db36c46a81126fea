internal import CJPEGStrips

/// The options that the strips of an image must share to be joined.
struct StripOptions: Sendable, Hashable {
    let width: Int
    let height: Int
    let format: PixelFormat
    let quality: Int
    let subsampling: ChromaSubsampling

    /// Creates the options for an image.
    ///
    /// - Throws: `invalidSize`, `invalidQuality`.
    init(for image: PixelBuffer, _ encoder: JPEGEncoder) throws(TurboJPEGError) {
        try PixelLayout.check(width: image.width, height: image.height)
        try encoder.checkQuality()
        width = image.width
        height = image.height
        format = image.format
        quality = encoder.quality
        subsampling = encoder.codedSubsampling(of: image.format)
    }

    /// Returns the same options for C, with restart markers between the strips of a layout.
    func options(of layout: StripLayout?) -> jpeg_strips_options {
        let chroma = subsampling.pixelsPerChromaSample
        let hasChroma = subsampling != .gray
        return jpeg_strips_options(
            format: format.stripFormat,
            width: UInt32(width),
            quality: Int32(quality),
            horizontal: hasChroma ? Int32(chroma.width) : 0,
            vertical: hasChroma ? Int32(chroma.height) : 0,
            mcu_rows: layout.map { $0.count > 1 ? Int32($0.stripHeight / subsampling.mcuHeight) : 0 } ?? 0
        )
    }

    /// Writes the JPEG of an image, or without one everything before its compressed data, and returns the number of bytes.
    @unsafe func write(
        _ image: PixelBuffer?,
        _ layout: StripLayout? = nil,
        to output: UnsafeMutableBufferPointer<UInt8>
    ) throws(TurboJPEGError) -> Int {
        var options = options(of: layout)
        var count = 0
        let message = StripMessage()
        func write(_ pixels: UnsafePointer<jpeg_strips_pixels>?) -> Int32 {
            unsafe jpeg_strips_write(
                &options,
                UInt32(height),
                pixels,
                output.baseAddress,
                output.count,
                &count,
                message.bytes
            )
        }
        let status =
            if let image {
                unsafe image.withUnsafePlanes { planes in
                    var pixels = unsafe planes.stripPixels
                    return unsafe write(&pixels)
                }
            } else {
                write(nil)
            }
        guard status == 0 else { throw error(message) }
        return count
    }

    /// Returns the error for a strip that cannot be compressed.
    func error(_ message: StripMessage) -> TurboJPEGError {
        TurboJPEGError(
            .encodeFailed,
            "the image of \(width)x\(height) cannot be compressed",
            libraryMessage: message.text
        )
    }
}

/// The division of an image into strips: whole rows of MCUs, with all strips except the last of the same height.
struct StripLayout: Sendable, Hashable {
    /// The height of the image in pixels.
    let height: Int
    /// The height of a strip in pixels.
    let stripHeight: Int

    /// The number of strips.
    var count: Int { (height + stripHeight - 1) / stripHeight }

    /// Creates a layout with at most `mcuRows` rows of MCUs in a strip; fewer if its MCU count exceeds 16 bits.
    init(width: Int, height: Int, subsampling: ChromaSubsampling, mcuRows: Int) {
        let columns = (width + subsampling.mcuWidth - 1) / subsampling.mcuWidth
        let rows = (height + subsampling.mcuHeight - 1) / subsampling.mcuHeight
        let wanted = max(1, min(mcuRows, rows, Int(UInt16.max) / columns))
        self.height = height
        stripHeight = wanted * subsampling.mcuHeight
    }

    /// Creates the layout of a JPEG with a restart interval; nil if its intervals do not end with rows of MCUs.
    init?(_ structure: JPEGStructure, interval: Int) {
        let (mcuWidth, mcuHeight) = (8 * structure.maximumHorizontal, 8 * structure.maximumVertical)
        // A single component has MCUs of one block, whatever its sampling factors are.
        guard structure.components.count > 1 || (mcuWidth == 8 && mcuHeight == 8) else { return nil }
        let columns = (structure.width + mcuWidth - 1) / mcuWidth
        guard interval > 0, interval.isMultiple(of: columns) else { return nil }
        height = structure.height
        stripHeight = interval / columns * mcuHeight
    }

    /// Returns the rows of pixels of consecutive strips.
    func rows(of strips: Range<Int>) -> Range<Int> {
        (strips.lowerBound * stripHeight)..<min(height, strips.upperBound * stripHeight)
    }

    func rows(of strip: Int) -> Range<Int> { rows(of: strip..<(strip + 1)) }
}

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
    /// The planes for the C functions; the interleaved chroma of `nv12` is one plane, given twice.
    var stripPixels: jpeg_strips_pixels {
        var pixels = jpeg_strips_pixels()
        let first = unsafe self[0]
        unsafe (pixels.base.0, pixels.stride.0) = (first.base, first.shape.bytesPerRow)
        guard unsafe format.isPlanar else { return pixels }
        let (blue, red) = unsafe (self[1], self[format == .nv12 ? 1 : 2])
        unsafe (pixels.base.1, pixels.stride.1) = (blue.base, blue.shape.bytesPerRow)
        unsafe (pixels.base.2, pixels.stride.2) = (red.base, red.shape.bytesPerRow)
        return pixels
    }
}

/// A buffer for the text of an error in C.
@safe final class StripMessage {
    /// The memory, for as long as the object lives.
    let bytes: UnsafeMutablePointer<CChar>

    init() {
        unsafe bytes = .allocate(capacity: Int(JPEG_STRIPS_MESSAGE_LENGTH))
        unsafe bytes.initialize(repeating: 0, count: Int(JPEG_STRIPS_MESSAGE_LENGTH))
    }

    deinit { unsafe bytes.deallocate() }

    /// The text that was written.
    var text: String { unsafe String(cString: bytes) }
}
