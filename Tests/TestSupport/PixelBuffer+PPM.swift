package import TurboJPEG

/// The form of images that the programs of libjpeg read and write: P6, or P5 of gray ones, with 8 bits a sample.
extension PixelBuffer {
    /// Creates an image from what such a program has written, or `ppm` returns.
    package init(ppm bytes: Span<UInt8>, as format: PixelFormat = .rgb) throws(TurboJPEGError) {
        var words: [[UInt8]] = [[]]
        var start = 0
        while words.count < 5, start < bytes.count {
            if bytes[start] > 0x20 { words[words.count - 1].append(bytes[start]) } else { words.append([]) }
            start += 1
        }
        let sizes = words.dropFirst().prefix(2).map { Int(String(decoding: $0, as: UTF8.self)) ?? 0 }
        try self.init(
            copying: bytes.extracting(start..<bytes.count),
            width: sizes.first ?? 0,
            height: sizes.last ?? 0,
            format: words[0] == Array("P5".utf8) ? .gray : .rgb
        )
        if format != self.format { self = try converted(as: format) }
    }

    /// The image as a file.
    package func ppm() throws(TurboJPEGError) -> [UInt8] {
        let image = format == .gray || format == .rgb ? self : try converted(as: .rgb)
        return Array("\(format == .gray ? "P5" : "P6")\n\(width) \(height)\n255\n".utf8)
            + (0..<height).flatMap { image.row($0) }
    }

    /// The image in another format, by way of red, green and blue.
    package func converted(as format: PixelFormat) throws(TurboJPEGError) -> PixelBuffer {
        var result = try PixelBuffer(width: width, height: height, format: format)
        unsafe try result.withUnsafeMutablePlanes(preservingContents: false) { target throws(TurboJPEGError) in
            unsafe withUnsafePlanes { unsafe $0.convert(into: target) }
        }
        return result
    }
}
