package import TurboJPEG

/// An image with what real ones have: gradients, hard edges as of text, and patches of strong colour.
package func testImage(
    _ width: Int,
    _ height: Int,
    as format: PixelFormat = .rgb,
    bytesPerRow: Int? = nil
) throws -> PixelBuffer {
    var pixels: [UInt8] = []
    for y in 0..<height {
        for x in 0..<width {
            let isGlyph = (y / 9) % 3 == 1 && (x * 7 + (x / 5) * 3 + y / 3) % 11 < 4
            let isPatch = (x / 40 + y / 30) % 5 == 2
            let red = isGlyph ? 24 : isPatch ? 210 - y % 30 : 60 + 180 * x / max(width, 2)
            let green = isGlyph ? 28 : isPatch ? 60 + x % 40 : 70 + 150 * y / max(height, 2)
            let blue = isGlyph ? 40 : isPatch ? 90 : 230 - 90 * (x + y) / (width + height)
            pixels += [UInt8(red), UInt8(green), UInt8(blue)]
        }
    }
    let colors = try PixelBuffer(copying: pixels.span, width: width, height: height, format: .rgb)
    let image = format == .rgb ? colors : try colors.converted(as: format)
    guard let bytesPerRow else { return image }
    // The same samples, with rows at another distance and padding that must never be seen.
    var padded = try PixelBuffer(width: width, height: height, format: format, bytesPerRow: bytesPerRow)
    try padded.fill(0xA5)
    try padded.copySamples(of: image)
    return padded
}

/// An image of one colour, which no coding changes by more than its rounding.
package func solidImage(_ width: Int, _ height: Int, red: UInt8, green: UInt8, blue: UInt8) throws -> PixelBuffer {
    let pixels = [[UInt8]](repeating: [red, green, blue], count: width * height).flatMap { $0 }
    return try PixelBuffer(copying: pixels.span, width: width, height: height, format: .rgb)
}

extension PixelBuffer {
    /// An image in which every byte of every plane is given by its place.
    package init(
        width: Int,
        height: Int,
        format: PixelFormat,
        byte: (_ plane: Int, _ x: Int, _ y: Int) -> UInt8
    ) throws {
        try self.init(width: width, height: height, format: format)
        for plane in 0..<planeCount {
            for y in 0..<self.plane(plane).height {
                try withMutableRow(y, ofPlane: plane) { row in
                    for x in 0..<row.count { row[x] = byte(plane, x, y) }
                }
            }
        }
    }

    /// All bytes of a plane, padding included.
    package func bytes(ofPlane plane: Int = 0) -> [UInt8] {
        withPlane(plane) { span in unsafe span.withUnsafeBufferPointer { unsafe Array($0) } }
    }

    /// Where the first plane begins.
    package var address: UInt { unsafe withUnsafePlanes { unsafe UInt(bitPattern: $0[0].base) } }

    /// The visible bytes of a row.
    package func row(_ row: Int, ofPlane plane: Int = 0) -> [UInt8] {
        withRow(row, ofPlane: plane) { span in unsafe span.withUnsafeBufferPointer { unsafe Array($0) } }
    }

    /// Sets all bytes of all planes, padding included.
    package mutating func fill(_ value: UInt8) throws {
        for plane in 0..<planeCount {
            try withMutablePlane(plane) { span in
                for index in 0..<span.count { span[index] = value }
            }
        }
    }

    /// Sets the visible bytes to those of an image of the same size and format.
    package mutating func copySamples(of other: PixelBuffer) throws {
        for plane in 0..<planeCount {
            for y in 0..<other.plane(plane).height {
                let source = other.row(y, ofPlane: plane)
                try withMutableRow(y, ofPlane: plane) { span in
                    for index in source.indices { span[index] = source[index] }
                }
            }
        }
    }
}

extension JPEGDecoder {
    /// Decodes an array.
    package func decode(
        bytes: [UInt8],
        as format: PixelFormat,
        scale: JPEGDecoder.ScalingFactor = .full
    ) throws(TurboJPEGError) -> PixelBuffer {
        try decode(bytes.span, as: format, scale: scale)
    }
}

extension StripEncoder {
    /// Returns the JPEG of an image, and what has changed since the previous one.
    package func encode(
        _ image: PixelBuffer,
        with encoder: JPEGEncoder,
        damage: RowSet? = nil
    ) throws(TurboJPEGError) -> (jpeg: [UInt8], changes: StripChanges) {
        var changes = StripChanges(rows: [], stripCount: 0, codedCount: 0)
        let capacity = try encoder.maximumByteCount(width: image.width, height: image.height)
        let jpeg = try [UInt8](capacity: capacity) { output throws(TurboJPEGError) in
            changes = try encode(image, with: encoder, damage: damage, into: &output)
        }
        return (jpeg, changes)
    }
}

/// The code of the error that the body throws, or nil if it throws none.
package func errorCode(_ body: () throws(TurboJPEGError) -> Void) -> TurboJPEGError.Code? {
    do throws(TurboJPEGError) {
        try body()
        return nil
    } catch {
        return error.code
    }
}

/// Sizes around those of blocks, and the size of a phone's halved screen.
package let sizes: [(Int, Int)] = [(1, 1), (1, 7), (7, 1), (16, 16), (17, 33), (64, 48), (563, 1219)]

/// The formats with one plane.
package let packedFormats = PixelFormat.allCases.filter { !$0.isPlanar }

/// The formats with several planes.
package let planarFormats = PixelFormat.allCases.filter(\.isPlanar)
