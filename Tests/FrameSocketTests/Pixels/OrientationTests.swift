import FrameSocket
import TestDescriptions
import TestSupport
import Testing

/// Images made upright, in every format, against the definition: flipped where mirrored, then turned clockwise.
@Suite(.tags(.computes)) struct OrientationTests {
    /// The definition itself, spelled out for an image of two rows.
    @Test(
        arguments: [
            (FrameOrientation.unknown, [[1, 2, 3], [4, 5, 6]]), (.up, [[1, 2, 3], [4, 5, 6]]),
            (.upMirrored, [[3, 2, 1], [6, 5, 4]]), (.down, [[6, 5, 4], [3, 2, 1]]),
            (.downMirrored, [[4, 5, 6], [1, 2, 3]]),
            (.leftMirrored, [[1, 4], [2, 5], [3, 6]]), (.right, [[3, 6], [2, 5], [1, 4]]),
            (.rightMirrored, [[6, 3], [5, 2], [4, 1]]), (.left, [[4, 1], [5, 2], [6, 3]]),
        ] as [(FrameOrientation, [[UInt8]])]
    )
    func `each orientation has its meaning`(orientation: FrameOrientation, expected: [[UInt8]]) throws {
        let image = try PixelBuffer(width: 3, height: 2, format: .gray) { _, x, y in UInt8(1 + x + 3 * y) }
        let upright = try image.upright(from: orientation)
        #expect((0..<upright.height).map { upright.row($0) } == expected)
    }

    @Test func `an upright image shares its memory with the result`() throws {
        let image = try testImage(20, 30, as: .bgra)
        #expect(try image.upright(from: .up).address == image.address)
        #expect(try image.upright(from: .unknown).address == image.address)
    }

    @Test func `rotating repeatedly needs no new memory`() throws {
        let pool = PixelBuffer.Pool()
        let image = try testImage(64, 48, as: .nv12)
        for _ in 0..<100 { _ = try image.upright(from: .left, pool: pool) }
        #expect(pool.allocatedCount == 1)
    }
}
