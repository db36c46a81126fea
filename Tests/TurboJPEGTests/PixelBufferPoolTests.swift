import TestDescriptions
import TestSupport
import Testing

@testable import TurboJPEG

@Suite(.tags(.computes)) struct PixelBufferPoolTests {
    @Test(arguments: PixelFormat.allCases)
    func `memory returns to the pool`(format: PixelFormat) throws {
        let pool = PixelBuffer.Pool()
        for _ in 0..<20 {
            _ = try pool.buffer(width: 33, height: 21, format: format)
        }
        #expect(pool.allocatedCount == 1)
        #expect(pool.recycledCount == 19)
        #expect(pool.idleCount == 1)
    }

    @Test func `memory in use is not handed out twice`() throws {
        let pool = PixelBuffer.Pool()
        let first = try pool.buffer(width: 8, height: 8, format: .gray)
        var copy: PixelBuffer? = first.withPlane(0) { _ in first }
        let second = try pool.buffer(width: 8, height: 8, format: .gray)
        #expect(pool.allocatedCount == 2)
        #expect(first.address != second.address)
        #expect(pool.idleCount == 0)
        copy = nil
        #expect(copy == nil && pool.idleCount == 0)
        withExtendedLifetime((first, second)) {}
    }

    @Test(arguments: [-1, 0, 1, 3])
    func `idle memory is bounded`(maximum: Int) throws {
        let pool = PixelBuffer.Pool(maximumIdleImages: maximum)
        do {
            let buffers = try (0..<5).map { _ in try pool.buffer(width: 8, height: 8, format: .gray) }
            withExtendedLifetime(buffers) {}
        }
        #expect(pool.idleCount == max(0, maximum))
    }

    @Test func `a new size drives out the old one`() throws {
        let pool = PixelBuffer.Pool(maximumIdleImages: 2)
        for size in [8, 16, 24] { _ = try pool.buffer(width: 100 * size, height: size, format: .gray) }
        #expect(pool.idleCount == 2)
        for size in [24, 16, 8] { _ = try pool.buffer(width: 100 * size, height: size, format: .gray) }
        #expect(pool.allocatedCount == 4, "the oldest, 8, was gone")
        #expect(pool.recycledCount == 2)
    }

    @Test func `buffers outlive their pool`() throws {
        var pool: PixelBuffer.Pool? = PixelBuffer.Pool()
        weak let observed = pool
        var buffer = try #require(try pool?.buffer(width: 8, height: 8, format: .bgra))
        pool = nil
        #expect(observed == nil)
        try buffer.fill(3)
        #expect(buffer.row(7).allSatisfy { $0 == 3 })
    }

    @Test func `a copy for writing comes from the pool`() throws {
        let pool = PixelBuffer.Pool()
        for _ in 0..<4 {
            let first = try pool.buffer(width: 8, height: 8, format: .bgra)
            var second = first
            try second.fill(1)
            withExtendedLifetime((first, second)) {}
        }
        #expect(pool.allocatedCount == 2)
        #expect(pool.recycledCount == 6)
    }

    @Test func `several threads can use a pool at once`() async throws {
        let pool = PixelBuffer.Pool()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    for round in 0..<500 {
                        var buffer = try pool.buffer(width: 8, height: 1 + round % 3, format: .gray)
                        try buffer.fill(UInt8(round % 256))
                        #expect(buffer.row(0).allSatisfy { $0 == UInt8(round % 256) })
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(pool.allocatedCount + pool.recycledCount == 2_000)
        #expect(pool.idleCount <= 3)
    }

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
