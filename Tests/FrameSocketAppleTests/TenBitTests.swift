import FrameSocket
import FrameSocketApple
import TestSupport
import Testing

/// Images of 10-bit samples, which become 8-bit ones.
@Suite struct TenBitTests {
    /// Planes of one 10-bit value each, with padding at the end of the rows.
    private func image(
        _ luma: Int,
        _ chroma: [Int],
        width: Int,
        height: Int,
        padding: Int = 0
    ) throws(TurboJPEGError) -> PixelBuffer {
        func plane(_ values: [Int], _ columns: Int, _ rows: Int) -> (bytes: [UInt8], bytesPerRow: Int) {
            let visible = (0..<columns).flatMap { _ in values.flatMap { [UInt8($0 << 6 & 0xFF), UInt8($0 >> 2)] } }
            let row = visible + [UInt8](repeating: 0xAA, count: padding)
            return ((0..<rows).flatMap { _ in row }, row.count)
        }
        let first = plane([luma], width, height)
        let second = plane(chroma, (width + 1) / 2, (height + 1) / 2)
        return try unsafe first.bytes.withUnsafeBufferPointer { one throws(TurboJPEGError) in
            try unsafe second.bytes.withUnsafeBufferPointer { two throws(TurboJPEGError) in
                guard let one = one.baseAddress, let two = two.baseAddress else {
                    throw TurboJPEGError(.invalidSize, "no bytes")
                }
                return try unsafe PixelBuffer(
                    tenBit: [(one, first.bytesPerRow), (two, second.bytesPerRow)],
                    width: width,
                    height: height
                )
            }
        }
    }

    @Test(arguments: [(0, 0), (64, 16), (401, 100), (402, 101), (940, 235), (1_021, 255), (1_023, 255)])
    func `a sample is rounded to 8 bits`(value: Int, expected: UInt8) throws {
        let image = try image(value, [512, 512], width: 6, height: 4)
        #expect(image.format == .nv12)
        #expect(image.withRow(3) { row in row.indices.allSatisfy { row[$0] == expected } })
        #expect(image.withRow(1, ofPlane: 1) { row in row.indices.allSatisfy { row[$0] == 128 } })
    }

    @Test(arguments: [(1, 1), (3, 5), (63, 47), (64, 48)], [0, 2, 100])
    func `odd sizes and padded rows are read whole`(size: (Int, Int), padding: Int) throws {
        let image = try image(400, [256, 768], width: size.0, height: size.1, padding: padding)
        #expect(image.width == size.0 && image.height == size.1)
        for row in 0..<size.1 {
            #expect(image.withRow(row) { bytes in bytes.indices.allSatisfy { bytes[$0] == 100 } })
        }
        for row in 0..<(size.1 + 1) / 2 {
            let isRight = image.withRow(row, ofPlane: 1) { bytes in
                bytes.indices.allSatisfy { bytes[$0] == ($0 % 2 == 0 ? 64 : 192) }
            }
            #expect(isRight)
        }
    }

    @Test func `rows without room for 16-bit samples are refused`() {
        let bytes = [UInt8](repeating: 0, count: 256)
        let error = #expect(throws: TurboJPEGError.self) {
            try unsafe bytes.withUnsafeBufferPointer { bytes in
                guard let start = bytes.baseAddress else { return }
                _ = try unsafe PixelBuffer(tenBit: [(start, 15), (start, 16)], width: 8, height: 8)
            }
        }
        #expect(error?.code == .invalidStride)
    }
}
