import CPNG
import FrameSocket

/// Reads PNG files by libpng's simplified interface, which returns its errors and never jumps.
enum PNGReader {
    static let signature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]

    /// The picture as BGRA; transparency is kept in the alpha channel.
    static func pixels(of png: Span<UInt8>) throws(TurboJPEGError) -> PixelBuffer {
        var image = unsafe png_image()
        unsafe image.version = UInt32(PNG_IMAGE_VERSION)
        defer { unsafe png_image_free(&image) }
        let isPNG = unsafe png.withUnsafeBytes {
            unsafe png_image_begin_read_from_memory(&image, $0.baseAddress, $0.count) != 0
        }
        guard isPNG else { throw unsafe failure(image) }
        guard unsafe Int(image.width) * Int(image.height) <= JPEGDecoder.defaultMaximumPixels else {
            throw TurboJPEGError(.tooLarge, unsafe "the PNG has \(image.width)x\(image.height) pixels")
        }
        unsafe image.format = UInt32(PNG_FORMAT_FLAG_COLOR | PNG_FORMAT_FLAG_ALPHA | PNG_FORMAT_FLAG_BGR)
        var buffer = try unsafe PixelBuffer(width: Int(image.width), height: Int(image.height), format: .bgra)
        let stride = Int32(buffer.plane(0).bytesPerRow)
        let isRead = try unsafe buffer.withUnsafeMutablePlanes(preservingContents: false) { planes in
            unsafe png_image_finish_read(&image, nil, planes[0].base, stride, nil) != 0
        }
        guard isRead else { throw unsafe failure(image) }
        return buffer
    }

    private static func failure(_ image: png_image) -> TurboJPEGError {
        let text = unsafe withUnsafeBytes(of: image.message) { message in
            unsafe String(decoding: message.prefix { $0 != 0 }, as: UTF8.self)
        }
        return TurboJPEGError(.unsupported, "the PNG cannot be read", libraryMessage: text)
    }
}
