import FrameTransport
import Locking
import TestSupport
import Testing
import TurboJPEG

@testable import FrameSocket

/// Shared buffers that are few, that somebody keeps, or that the memory limit has no room for.
@Suite struct ScarceBufferTests {
    private let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    /// Shows P273.
    @Test func `a receiver that keeps every buffer gets the latest frame when it releases one`() async throws {
        var pair = try await SharedPair(directory, .init(sharing: .allowed(buffers: 2)))
        let image = try testImage(32, 32, as: .gray)
        var kept: [Frame] = []
        for _ in 0..<2 {
            pair.uploader.send(image)
            kept.append(try await pair.next())
        }
        for value in [1, 2, 3] as [UInt8] {
            var other = image
            try other.fill(value)
            #expect(pair.uploader.send(other) == .taken)
        }
        let uploader = pair.uploader
        #expect(await becomesTrue { uploader.statistics.sent == 2 && uploader.statistics.inProgress == 1 })
        kept.removeFirst()
        let frame = try await pair.next()
        #expect(try FrameDecoder().decode(frame, as: .gray).image.row(0) == [UInt8](repeating: 3, count: 32))
        #expect(pair.uploader.statistics.drops == [.superseded: 2])
    }

    // MARK: Buffers that nobody releases

    // MARK: Memory

    /// Shows P288.
    @Test(arguments: Array(stride(from: 100, through: 700, by: 25)), [ChromaSubsampling.yuv420, .yuv444])
    func `images drawn in place and others all arrive if the memory limit allows for one`(
        percent: Int,
        subsampling: ChromaSubsampling
    ) async throws {
        let image = try testImage(64, 48, as: .bgra)
        let limit = EncodingMemory.bytes(of: image) * percent / 100
        let configuration = SampleUploader.Configuration(
            subsampling: subsampling,
            sharing: .allowed(),
            maximumMemory: limit
        )
        guard FrameEncoder().memoryNeed(.pixels(image), .up, configuration).total <= limit else { return }
        var pair = try await SharedPair(directory, configuration)
        try await pair.sharing()
        for index in 0..<24 {
            // Runs of either kind, and both in turns.
            if index < 4 || index > 16 || index.isMultiple(of: 2) {
                var drawn = try pair.uploader.makeBuffer(width: 64, height: 48, format: .bgra)
                try drawn.fill(UInt8(index))
                try #require(pair.uploader.send(consume drawn) == .taken, "frame \(index)")
            } else {
                try #require(pair.uploader.send(image) == .taken, "frame \(index)")
            }
            #expect(try await pair.next().sequence == UInt64(index))
            try await pair.uploader.finish()
        }
        #expect(pair.uploader.statistics.drops.isEmpty)
    }

    /// Shows P288.
    @Test func `the memory of buffers that nobody uses makes room for a larger image`() async throws {
        let large = try testImage(256, 192, as: .bgra)
        var configuration = SampleUploader.Configuration(quality: 100, sharing: .allowed())
        let need = FrameEncoder().memoryNeed(.pixels(large), .up, configuration)
        configuration = .init(quality: 100, sharing: .allowed(), maximumMemory: need.total - need.workspace)
        var pair = try await SharedPair(directory, configuration)
        try await pair.sharing()
        let uploader = pair.uploader
        for round in 0..<3 {
            for value in 0..<4 as Range<UInt8> {
                var drawn = try uploader.makeBuffer(width: 64, height: 48, format: .bgra)
                try drawn.fill(value)
                #expect(uploader.send(consume drawn) == .taken)
                let frame = try await pair.next()
                #expect(frame.shared != nil)
                #expect(try FrameDecoder().decode(frame).image.row(7) == [UInt8](repeating: value, count: 256))
            }
            try await uploader.finish()
            #expect(await becomesTrue { uploader.machine.withLock { !$0.sharing.pool.isAnyWithReceiver } })
            #expect(uploader.machine.withLock { $0.sharing.pool.byteCount } > 0)
            // The frame sent last is in one of them, and gives way too.
            try #require(uploader.send(large) == .taken)
            try await uploader.finish()
            #expect(try await pair.next().bufferSize.width == 256, "round \(round)")
        }
    }

    // MARK: Waiting for a buffer

    /// Shows P281.
    @Test func `waiting for a buffer ends when the receiver releases one, and every image is then drawn in place`()
        async throws
    {
        var pair = try await SharedPair(directory, .init(sharing: .allowed(buffers: 2)))
        try await pair.sharing()
        var kept: [Frame] = []
        for value in 0..<2 {
            pair.uploader.send(try pair.drawn(UInt8(value)))
            kept.append(try await pair.next())
        }
        for value in 2..<10 {
            let uploader = pair.uploader
            let wait = Task { try await uploader.waitForBuffer() }
            try #require(await becomesTrue { uploader.waiterCount == 1 })
            kept.removeFirst()
            try await wait.value
            let image = try pair.drawn(UInt8(value))
            #expect(image.lender is SharedClaim, "frame \(value) is drawn in ordinary memory")
            pair.uploader.send(consume image)
            kept.append(try await pair.next())
            #expect(
                try FrameDecoder().decode(kept[1], as: .gray).image.row(0) == [UInt8](repeating: UInt8(value), count: 8)
            )
        }
        #expect(pair.uploader.statistics.drops.isEmpty && pair.uploader.statistics.shared == 10)
    }

    /// Shows P282.
    @Test func `an image drawn in place is on the wire when send returns, and its buffer is free when it is released`()
        async throws
    {
        var pair = try await SharedPair(directory, .init(sharing: .allowed(buffers: 2)))
        try await pair.sharing()
        for value in 0..<20 {
            let image = try pair.drawn(UInt8(value))
            #expect(image.lender is SharedClaim, "frame \(value)")
            pair.uploader.send(consume image)
            // No other thread has to do anything for this.
            #expect(pair.uploader.statistics.sent == value + 1)
            // The uploader keeps the latest image; the other buffer is free as soon as the receiver has released it.
            _ = try await pair.next()
            try await pair.uploader.waitForBuffer()
        }
    }
}
