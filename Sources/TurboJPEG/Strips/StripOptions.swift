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

    /// Returns the same options for C, for strips of a layout.
    func options(of layout: StripLayout) -> jpeg_strips_options {
        let chroma = subsampling.pixelsPerChromaSample
        let hasChroma = subsampling != .gray
        return jpeg_strips_options(
            format: format.stripFormat,
            width: UInt32(width),
            quality: Int32(quality),
            horizontal: hasChroma ? Int32(chroma.width) : 0,
            vertical: hasChroma ? Int32(chroma.height) : 0,
            mcu_rows: layout.count > 1 ? Int32(layout.stripHeight / subsampling.mcuHeight) : 0
        )
    }

    /// Returns everything before the compressed data of the image.
    func header(of layout: StripLayout) throws(TurboJPEGError) -> [UInt8] {
        var options = options(of: layout)
        var bytes = [UInt8](repeating: 0, count: 4096)
        var count = 0
        var message = StripMessage()
        let status = unsafe message.withBytes { message in
            unsafe bytes.withUnsafeMutableBufferPointer { bytes in
                unsafe jpeg_strips_write_header(
                    &options,
                    UInt32(height),
                    bytes.baseAddress,
                    bytes.count,
                    &count,
                    message
                )
            }
        }
        guard status == 0 else { throw error(message) }
        bytes.removeSubrange(count...)
        return bytes
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

/// The height of the strips that an image is divided into.
package enum StripHeight: Sendable, Hashable {
    /// One row of MCUs: strips enclose changes closely, and an additional strip costs nothing.
    case automatic
    /// This many rows of MCUs, at least one; fewer if a strip would have more than 65,535 MCUs.
    case mcuRows(Int)
}
