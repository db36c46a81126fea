internal import CPNGRows
package import TurboJPEG

extension PixelBuffer {
    /// The maximum memory for reading a PNG besides its pixels: rows, tables, and a color profile.
    private static let maximumWorkingMemory = 16 << 20

    /// Reads a PNG as BGRA: opaque, with what is transparent blended with a background, or with its alpha.
    ///
    /// Colors become sRGB if the file states another gamma, and stay as they are if it states none, whether samples have 8 or 16
    /// bits. For the programs and the tests of this package alone: the library neither needs nor links libpng.
    ///
    /// - Parameters:
    ///   - png: The file's bytes.
    ///   - background: The color behind transparent pixels; white by default. If nil, pixels keep their alpha, with which
    ///     their colors are not multiplied.
    ///   - pool: The source of the memory.
    /// - Throws: `unsupported` with libpng's message; `tooLarge` over 2^25 pixels, before memory for them is allocated;
    ///   `allocationFailed`.
    package init(png: Span<UInt8>, over background: PNGBackground? = .white, pool: Pool = Pool()) throws(TurboJPEGError)
    {
        self = try unsafe png.withUnsafeBytes { bytes throws(TurboJPEGError) in
            guard let rows = unsafe png_rows_create(bytes.baseAddress, bytes.count, Self.maximumWorkingMemory) else {
                throw TurboJPEGError(.allocationFailed, "There is no memory to read a PNG.")
            }
            defer { unsafe png_rows_destroy(rows) }
            var (width, height): (UInt32, UInt32) = (0, 0)
            try unsafe Self.check(png_rows_begin(rows, &width, &height), of: rows)
            guard Int(width) * Int(height) <= JPEGDecoder.Limits().maximumPixels else {
                throw TurboJPEGError(.tooLarge, "The PNG of \(width)x\(height) pixels is too large.")
            }
            var image = try pool.buffer(width: Int(width), height: Int(height), format: .bgra)
            let bytesPerRow = image.plane(0).bytesPerRow
            let result = try unsafe image.withUnsafeMutablePlanes(preservingContents: false) { planes in
                unsafe png_rows_finish(rows, planes[0].base, bytesPerRow, background?.channels)
            }
            try unsafe Self.check(result, of: rows)
            return image
        }
    }

    private static func check(_ result: png_rows_result, of rows: OpaquePointer) throws(TurboJPEGError) {
        switch result {
        case PNG_ROWS_DONE: return
        case PNG_ROWS_NO_MEMORY: throw TurboJPEGError(.allocationFailed, "There is no memory to read the PNG.")
        default:
            let message = unsafe String(cString: png_rows_message(rows))
            throw TurboJPEGError(.unsupported, "The PNG cannot be read.", libraryMessage: message)
        }
    }
}
