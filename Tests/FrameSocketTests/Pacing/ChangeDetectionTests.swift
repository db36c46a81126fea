import FrameSocket
import TestDescriptions
import TestSupport
import Testing

/// The macro can neither call a mutating method nor take a span.
private func expect(
    _ isChanged: Bool,
    _ expected: Bool,
    _ comment: Comment = "",
    at location: SourceLocation = #_sourceLocation
) {
    #expect(isChanged == expected, comment, sourceLocation: location)
}

/// Which images and JPEGs count as changed.
@Suite(.tags(.computes)) struct ChangeDetectionTests {
    /// An image whose visible bytes are random, with padding that differs from one call to the next.
    private func image(
        _ format: PixelFormat,
        width: Int = 37,
        height: Int = 21,
        seed: UInt64 = 1,
        padding: UInt8 = 0
    ) throws -> PixelBuffer {
        var random = SplitMix(seed: seed)
        var image = try PixelBuffer(width: width, height: height, format: format)
        for plane in 0..<image.planeCount {
            try image.withMutablePlane(plane) { bytes in
                for index in bytes.indices { bytes[index] = padding }
            }
            for row in 0..<image.plane(plane).height {
                try image.withMutableRow(row, ofPlane: plane) { bytes in
                    for index in bytes.indices { bytes[index] = .random(in: 0...255, using: &random) }
                }
            }
        }
        return image
    }

    @Test(arguments: PixelFormat.allCases)
    func `equal images are unchanged`(_ format: PixelFormat) throws {
        var detector = ChangeDetector()
        let changedAtFirst = detector.isChanged(try image(format))
        #expect(changedAtFirst)
        detector.keep()
        // Other memory, other padding, same pixels.
        expect(detector.isChanged(try image(format, padding: 77)), false)
        expect(detector.isChanged(try image(format, seed: 2)), true)
    }

    @Test(arguments: PixelFormat.allCases, [5, 16, 37, 64])
    func `a change of any byte is found`(_ format: PixelFormat, width: Int) throws {
        let original = try image(format, width: width, height: 5)
        var detector = ChangeDetector()
        _ = detector.isChanged(original)
        detector.keep()
        for plane in 0..<original.planeCount {
            let shape = original.plane(plane)
            for row in 0..<shape.height {
                for byte in 0..<shape.visibleBytesPerRow {
                    var changed = original
                    try changed.withMutableRow(row, ofPlane: plane) { $0[byte] ^= 0x80 }
                    expect(detector.isChanged(changed), true, "plane \(plane) row \(row) byte \(byte)")
                }
            }
        }
        expect(detector.isChanged(original), false)
    }

    @Test func `content that has moved is a change`() throws {
        // One white block of eight bytes in black, at each place in turn.
        var detector = ChangeDetector()
        for place in 0..<64 {
            var image = try PixelBuffer(width: 256, height: 16, format: .gray, zeroFilled: true)
            try image.withMutableRow(place / 32 * 9, ofPlane: 0) { row in
                for byte in 0..<8 { row[place % 32 * 8 + byte] = 255 }
            }
            expect(detector.isChanged(image), true, "place \(place)")
            detector.keep()
        }
    }

    @Test func `another size, format or orientation is a change`() throws {
        var detector = ChangeDetector()
        _ = detector.isChanged(try PixelBuffer(width: 8, height: 4, format: .bgra, zeroFilled: true))
        detector.keep()
        expect(detector.isChanged(try PixelBuffer(width: 4, height: 8, format: .bgra, zeroFilled: true)), true)
        expect(detector.isChanged(try PixelBuffer(width: 8, height: 4, format: .rgba, zeroFilled: true)), true)
        let same = try PixelBuffer(width: 8, height: 4, format: .bgra, zeroFilled: true)
        expect(detector.isChanged(same, orientation: .left), true)
        expect(detector.isChanged(same), false)
    }

    @Test(arguments: [0, 1, 7, 8, 63, 64, 65, 1000])
    func `a change of any byte of a JPEG is found`(count: Int) {
        var detector = ChangeDetector()
        let bytes = [UInt8](repeating: 3, count: count)
        _ = detector.isChanged(bytes.span)
        detector.keep()
        expect(detector.isChanged(bytes.span), false)
        expect(detector.isChanged((bytes + [3]).span), true)
        for index in bytes.indices {
            var changed = bytes
            changed[index] ^= 1
            expect(detector.isChanged(changed.span), true, "byte \(index)")
        }
    }
}
