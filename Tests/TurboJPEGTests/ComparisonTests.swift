import TestDescriptions
import TestSupport
import Testing
import TurboJPEG

@Suite(.tags(.computes)) struct ComparisonTests {
    @Test(arguments: packedFormats, packedFormats)
    func `equal colors are equal in any order of the channels`(first: PixelFormat, second: PixelFormat) throws {
        let source = try testImage(19, 11, as: first == .gray || second == .gray ? .gray : .rgb).ppm()
        let images = try (PixelBuffer(ppm: source.span, as: first), PixelBuffer(ppm: source.span, as: second))
        #expect(try images.0.peakSignalToNoiseRatio(against: images.1) == .infinity)
        #expect(images.0.hasSamePixels(as: images.1) == (first == second))
    }

    @Test(arguments: [(UInt8(1), 48.13), (2, 42.11), (16, 24.05)])
    func `a known difference has the decibels of the formula`(distance: UInt8, decibels: Double) throws {
        let first = try solidImage(8, 8, red: 100, green: 100, blue: 100)
        let second = try solidImage(8, 8, red: 100 + distance, green: 100 - distance, blue: 100 + distance)
        #expect(abs(try first.peakSignalToNoiseRatio(against: second) - decibels) < 0.01)
        #expect(try first.peakSignalToNoiseRatio(against: second) == second.peakSignalToNoiseRatio(against: first))
    }

    @Test func `alpha is not compared`() throws {
        let opaque = try testImage(8, 8, as: .bgra)
        var clear = opaque
        for y in 0..<8 { try clear.withMutableRow(y) { row in for x in 0..<8 { row[4 * x + 3] = 0 } } }
        #expect(try clear.peakSignalToNoiseRatio(against: opaque) == .infinity)
        #expect(!clear.hasSamePixels(as: opaque))
    }

    @Test(arguments: planarFormats)
    func `chroma counts`(format: PixelFormat) throws {
        let image = try testImage(9, 9, as: format)
        var changed = image
        let last = image.plane(image.planeCount - 1).visibleBytesPerRow - 1
        try changed.withMutableRow(4, ofPlane: image.planeCount - 1) { $0[last] ^= 0x40 }
        #expect(try changed.peakSignalToNoiseRatio(against: image) < 100)
        #expect(!changed.hasSamePixels(as: image))
    }

    @Test func `images of different sizes cannot be compared`() throws {
        let code = errorCode { () throws(TurboJPEGError) in
            let (first, second) = try (
                PixelBuffer(width: 2, height: 3, format: .rgb), PixelBuffer(width: 3, height: 2, format: .rgb)
            )
            _ = try first.peakSignalToNoiseRatio(against: second)
        }
        #expect(code == .sizeMismatch)
    }
}
