internal import CPNG
package import TurboJPEG

extension PixelBuffer {
    /// Reads a PNG as BGRA, its transparency kept in the alpha channel.
    ///
    /// By libpng's simplified interface (`png_image_*`), which returns its errors and never jumps. For the programs and
    /// the tests of this package alone: the library neither needs nor links libpng.
    ///
    /// - Parameters:
    ///   - png: the file's bytes.
    ///   - pool: where the memory comes from.
    /// - Throws: `unsupported` with libpng's message; `tooLarge` over 2^25 pixels, before memory is asked for.
    package init(png: Span<UInt8>, pool: Pool = Pool()) throws(TurboJPEGError) {
        var image = unsafe png_image()
        unsafe image.version = UInt32(PNG_IMAGE_VERSION)
        defer { unsafe png_image_free(&image) }
        let isPNG = unsafe png.withUnsafeBytes {
            unsafe png_image_begin_read_from_memory(&image, $0.baseAddress, $0.count) != 0
        }
        guard isPNG else { throw unsafe Self.failure(image) }
        let (width, height) = unsafe (Int(image.width), Int(image.height))
        guard width * height <= JPEGLimits().maximumPixels else {
            throw TurboJPEGError(.tooLarge, "The PNG of \(width)x\(height) pixels is too large.")
        }
        unsafe image.format = UInt32(PNG_FORMAT_FLAG_COLOR | PNG_FORMAT_FLAG_ALPHA | PNG_FORMAT_FLAG_BGR)
        self = try pool.buffer(width: width, height: height, format: .bgra)
        let bytesPerRow = Int32(plane(0).bytesPerRow)
        let isRead = try unsafe withUnsafeMutablePlanes(preservingContents: false) { planes in
            unsafe png_image_finish_read(&image, nil, planes[0].base, bytesPerRow, nil) != 0
        }
        guard isRead else { throw unsafe Self.failure(image) }
    }

    private static func failure(_ image: png_image) -> TurboJPEGError {
        let text = unsafe withUnsafeBytes(of: image.message) { message in
            unsafe String(decoding: message.prefix { $0 != 0 }, as: UTF8.self)
        }
        return TurboJPEGError(.unsupported, "The PNG cannot be read.", libraryMessage: text)
    }
}
