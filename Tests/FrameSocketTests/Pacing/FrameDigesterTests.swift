import FrameSocketTesting
import FrameTransport
import FrameWire
import TestDescriptions
import TestSupport
import Testing
import TurboJPEG

@testable import FrameSocket

/// Which frames count as equal.
@Suite(.timeLimit(.minutes(5))) struct FrameDigesterTests {
    private let digester = FrameDigester()

    private func digest(_ image: PixelBuffer, _ orientation: FrameOrientation = .up) -> UInt64 {
        digester.digest(.pixels(image), orientation: orientation)
    }

    private func digest(_ jpeg: [UInt8]) -> UInt64 {
        digester.digest(.jpeg(FrameBytes(jpeg), BufferSize(width: 8, height: 8)), orientation: .up)
    }

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

    @Test(arguments: PixelFormat.allCases, [5, 16, 37, 64])
    func `pixels count and padding does not, and a change of any byte is found`(
        _ format: PixelFormat,
        width: Int
    ) throws {
        let original = try image(format, width: width, height: 5)
        let known = digest(original)
        #expect(try digest(image(format, width: width, height: 5, padding: 77)) == known)
        for plane in 0..<original.planeCount {
            let shape = original.plane(plane)
            for row in 0..<shape.height {
                for byte in 0..<shape.visibleBytesPerRow {
                    var changed = original
                    try changed.withMutableRow(row, ofPlane: plane) { $0[byte] ^= 0x80 }
                    #expect(digest(changed) != known, "plane \(plane) row \(row) byte \(byte)")
                }
            }
        }
    }

    @Test func `content that has moved is a change`() throws {
        // One white block of eight bytes in black, at each place in turn.
        let digests = try (0..<64).map { place in
            var image = try PixelBuffer(width: 256, height: 16, format: .gray, zeroFilled: true)
            try image.withMutableRow(place / 32 * 9, ofPlane: 0) { row in
                for byte in 0..<8 { row[place % 32 * 8 + byte] = 255 }
            }
            return digest(image)
        }
        #expect(Set(digests).count == 64)
    }

    @Test func `another size, format or orientation is a change`() throws {
        let image = try PixelBuffer(width: 8, height: 4, format: .bgra, zeroFilled: true)
        let others = [
            digest(try PixelBuffer(width: 4, height: 8, format: .bgra, zeroFilled: true)),
            digest(try PixelBuffer(width: 8, height: 4, format: .rgba, zeroFilled: true)), digest(image, .left),
        ]
        #expect(!others.contains(digest(image)))
    }

    @Test(arguments: [0, 1, 7, 8, 63, 64, 65, 1000])
    func `a change of any byte of a JPEG is found`(count: Int) {
        let bytes = [UInt8](repeating: 3, count: count)
        #expect(digest(bytes) == digest(bytes) && digest(bytes) != digest(bytes + [3]))
        for index in bytes.indices {
            var changed = bytes
            changed[index] ^= 1
            #expect(digest(changed) != digest(bytes), "byte \(index)")
        }
    }

    /// Shows P72.
    @Test func `equal bytes that are sent differently have different hashes`() throws {
        let image = try testImage(64, 48, as: .gray)
        let jpeg = FrameBytes([1, 2, 3])
        let size = BufferSize(width: 64, height: 48)
        let contents: [FrameContent] = [
            .pixels(image), .scaled(image, by: OutputPlan(size)), .jpeg(jpeg, size), .resizableJPEG(jpeg, size),
            .jpeg(jpeg, BufferSize(width: 48, height: 64)), .jpeg(jpeg, BufferSize(width: 64, height: 49)),
            .jpeg(jpeg, BufferSize(width: -64, height: .min)),
        ]
        let digests = contents.map { digester.digest($0, orientation: .up) }
        #expect(Set(digests).count == contents.count)
    }
}
