extension PixelBuffer {
    /// Creates an image from a portable graymap or pixmap (P2, P3, P5, P6).
    ///
    /// Comments are skipped. Samples with any maximum value from 1 to 65,535 are scaled to 8 bits. Bytes after the
    /// image are ignored, because a file may hold several. Memory is allocated only if there are enough bytes for all
    /// samples.
    ///
    /// - Parameters:
    ///   - bytes: The complete file.
    ///   - format: Any format; for planar ones, the image is converted as defined by JFIF, with chroma averaged over
    ///     four pixels.
    /// - Throws: `invalidPPM`, `truncatedPPM`, `unsupportedPPM`, `allocationFailed`.
    package init(ppm bytes: Span<UInt8>, as format: PixelFormat = .rgb) throws(TurboJPEGError) {
        var end = 0
        try self.init(ppm: bytes, as: format, end: &end)
    }

    /// Creates the first image of a file as ``init(ppm:as:)`` does, and states in `end` how many bytes it takes.
    package init(ppm bytes: Span<UInt8>, as format: PixelFormat = .rgb, end: inout Int) throws(TurboJPEGError) {
        var reader = try PPMReader(head: bytes)
        // Chroma needs two rows at a time, so a planar image is created from a packed one.
        var image = try PixelBuffer(
            width: reader.width,
            height: reader.height,
            format: format.isPlanar ? .rgb : format
        )
        var row = [UInt8](repeating: 0, count: 3 * reader.width)
        unsafe try image.withUnsafeMutablePlanes(preservingContents: false) { planes throws(TurboJPEGError) in
            for y in 0..<reader.height {
                try unsafe row.withUnsafeMutableBufferPointer { row throws(TurboJPEGError) in
                    guard let row = row.baseAddress else { return }
                    try unsafe reader.readRow(bytes, into: row)
                    unsafe planes.writeRGB(row: y, from: row)
                }
            }
        }
        end = reader.position
        guard format.isPlanar else {
            self = image
            return
        }
        self = try PixelBuffer(width: reader.width, height: reader.height, format: format)
        unsafe try withUnsafeMutablePlanes(preservingContents: false) { target throws(TurboJPEGError) in
            unsafe image.withUnsafePlanes { unsafe $0.convert(into: target) }
        }
    }

    /// Returns the image as a binary portable pixmap (P6), or as a graymap (P5) if the format is `gray`.
    ///
    /// Alpha is omitted. Planar images are converted as defined by JFIF, with each chroma sample spread over its four
    /// pixels.
    package func ppm() -> [UInt8] {
        var file = Array("\(format == .gray ? "P5" : "P6")\n\(width) \(height)\n255\n".utf8)
        let rowBytes = format == .gray ? width : 3 * width
        file.reserveCapacity(file.count + rowBytes * height)
        var row = [UInt8](repeating: 0, count: rowBytes)
        for y in 0..<height {
            unsafe withUnsafePlanes { planes in
                unsafe row.withUnsafeMutableBufferPointer { row in
                    guard let row = row.baseAddress else { return }
                    if format == .gray {
                        unsafe row.update(from: planes[0].row(y), count: width)
                    } else {
                        unsafe planes.readRGB(row: y, into: row)
                    }
                }
            }
            file += row
        }
        return file
    }
}
