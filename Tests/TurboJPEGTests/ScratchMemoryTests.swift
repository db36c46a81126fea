import TestDescriptions
import TestSupport
import Testing

@testable import TurboJPEG

/// The memory that decoding in strips keeps for the next image.
@Suite(.tags(.computes)) struct ScratchMemoryTests {
    @Test(arguments: [(0, 0), (99, 0), (640, 1), (1_279, 1), (1_280, 2), (.max, 5)] as [(Int, Int)])
    func `idle memory is bounded in bytes`(limit: Int, expected: Int) throws {
        let pool = PixelBuffer.Pool(maximumIdleImages: .max, maximumIdleBytes: limit)
        do {
            // Ten rows of 64 bytes each.
            let buffers = try (0..<5).map { _ in try pool.buffer(width: 64, height: 10, format: .gray) }
            withExtendedLifetime(buffers) {}
        }
        #expect(pool.idleCount == expected)
    }

    @Test func `retained memory is released when forgotten, and when the size changes`() throws {
        let strips = StripDecoder(maximumThreads: 2)
        let jpegs = try [(64, 640), (64, 320)].map { size in
            try StripEncoder().encode(testImage(size.0, size.1), with: JPEGEncoder()).jpeg
        }
        let (tall, low) = (jpegs[0], jpegs[1])
        let pool = strips.decoder.pool
        _ = try strips.decode(tall.span, as: .bgra)
        #expect(pool.idleCount == 0)
        strips.forget()
        #expect(pool.idleCount == 1)
        _ = try strips.decode(tall.span, as: .bgra)
        _ = try strips.decode(low.span, as: .bgra)
        // That of the first size came back.
        #expect(pool.idleCount == 1)
    }
}
