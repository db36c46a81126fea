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

    @Test(arguments: 1...3)
    func `any number of buffers is enough for a receiver that releases each frame`(buffers: Int) async throws {
        var pair = try await SharedPair(directory, .init(sharing: .allowed(buffers: buffers)))
        var image = try testImage(32, 32, as: .gray)
        for value in 0..<10 {
            try image.fill(UInt8(value))
            pair.uploader.send(image)
            let frame = try await pair.next()
            #expect(frame.shared != nil)
            #expect(
                try FrameDecoder().decode(frame, as: .gray).image.row(7) == [UInt8](repeating: UInt8(value), count: 32)
            )
        }
    }

    // MARK: Buffers that nobody releases

    /// Shows P287.
    @Test(arguments: 1...3)
    func `a receiver that keeps every buffer gets the next frames as JPEGs`(buffers: Int) async throws {
        var pair = try await SharedPair(directory, .init(sharing: .allowed(buffers: buffers)), waitsForBuffers: false)
        pair.uploader.machine.withLock { $0.sharing.longestWait = 1_000_000 }
        let image = try testImage(32, 32, as: .gray)
        var kept: [Frame] = []
        for index in 0..<buffers + 4 {
            #expect(pair.uploader.send(image) == .taken)
            let frame = try await pair.next()
            #expect((frame.shared != nil) == (index < buffers), "frame \(index)")
            #expect(try FrameDecoder().decode(frame, as: .gray).image.peakSignalToNoiseRatio(against: image) > 20)
            if frame.shared != nil { kept.append(frame) }
            try await pair.uploader.finish()
        }
        // A frame that is repeated needs no buffer either.
        pair.received.send(.refresh)
        #expect(try await pair.next().shared == nil)
        kept.removeAll()
        let uploader = pair.uploader
        #expect(await becomesTrue { uploader.machine.withLock { $0.sharing.pool.usedCount == 0 } })
        #expect(uploader.send(image) == .taken)
        #expect(try await pair.next().shared != nil)
    }

    /// Shows P287.
    @Test(arguments: 1...3)
    func `a program that holds every buffer can send other images, and wait for them`(buffers: Int) async throws {
        var pair = try await SharedPair(directory, .init(sharing: .allowed(buffers: buffers)))
        try await pair.sharing()
        let held = try (0..<buffers).map { try pair.drawn(UInt8($0)) }
        for value in 0..<4 as Range<UInt8> {
            var image = try testImage(32, 32, as: .gray)
            try image.fill(value)
            #expect(pair.uploader.send(image) == .taken)
            try await pair.uploader.finish()
            let frame = try await pair.next()
            #expect(frame.shared == nil)
            #expect(try FrameDecoder().decode(frame, as: .gray).image.row(9)[9] == value)
        }
        // Those that it holds are sent in place all the same.
        pair.uploader.send(held[0])
        #expect(try await pair.next().shared != nil)
    }

    /// Shows P287.
    @Test(arguments: 1...3)
    func `readers that take nothing hold up no other reader of a broadcaster`(buffers: Int) async throws {
        let pair = try await SharedPair(directory, .init(sharing: .allowed(buffers: buffers)), waitsForBuffers: false)
        pair.uploader.machine.withLock { $0.sharing.longestWait = 1_000_000 }
        let broadcaster = FrameConnection.Broadcaster(of: pair.received)
        var slow = (0..<3).map { _ in broadcaster.reader().makeAsyncIterator() }
        var fast = broadcaster.reader().makeAsyncIterator()
        var held: [Frame] = []
        let image = try testImage(32, 32, as: .gray)
        for index in 0..<20 {
            #expect(pair.uploader.send(image) == .taken)
            #expect(try await fast.next()?.sequence == UInt64(index))
            if slow.indices.contains(index) { held.append(try #require(try await slow[index].next())) }
        }
        withExtendedLifetime(held) {}
    }

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

    /// The receiver keeps the first frame, in buffer 0, while the number of buffers changes.
    ///
    /// Shows P263.
    @Test(arguments: [[2], [1], [8, 1, 3], [nil, 3], [nil, 1]] as [[Int?]])
    func `the number of buffers can change while the receiver has some`(counts: [Int?]) async throws {
        var pair = try await SharedPair(directory)
        try await pair.sharing()
        pair.uploader.send(try pair.drawn(1))
        var kept: [Frame] = [try await pair.next()]
        for (step, count) in counts.enumerated() {
            pair.uploader.update { $0.sharing = count.map { .allowed(buffers: $0) } ?? .off }
            // A frame in between, if there is a way for it: as a JPEG, or in a buffer that the receiver does not have.
            guard count != 1 else { continue }
            pair.uploader.send(try pair.drawn(UInt8(10 + step)))
            let frame = try await pair.next()
            #expect((frame.shared != nil) == (count != nil))
        }
        // With one buffer, which the receiver has, the frame waits.
        pair.uploader.send(try pair.drawn(3))
        kept.removeAll()
        let last = try await pair.next()
        #expect(try FrameDecoder().decode(last, as: .gray).image.row(0) == [UInt8](repeating: 3, count: 8))
        #expect(last.shared != nil)
        pair.uploader.connection.close()
    }

    /// A pair whose only buffer the receiver keeps, that frame, and a caller that waits for a buffer.
    private func waiting() async throws -> (SharedPair, kept: Frame, Task<Void, any Error>) {
        var pair = try await SharedPair(directory, .init(sharing: .allowed(buffers: 1)))
        try await pair.sharing()
        pair.uploader.send(try pair.drawn(1))
        let kept = try await pair.next()
        let uploader = pair.uploader
        let wait = Task { try await uploader.waitForBuffer() }
        try #require(await becomesTrue { uploader.waiterCount == 1 })
        return (pair, kept, wait)
    }

    /// Shows P281.
    @Test func `waiting for a buffer can be cancelled`() async throws {
        let (pair, kept, wait) = try await waiting()
        let uploader = pair.uploader
        wait.cancel()
        await #expect(throws: TransportError(.cancelled, "waiting for a shared buffer was cancelled")) {
            try await wait.value
        }
        #expect(uploader.waiterCount == 0)
        withExtendedLifetime(kept) {}
    }

    /// Shows P281.
    @Test(arguments: ["ends", "declines", "closes"])
    func `waiting for a buffer ends if the receiver`(_ what: String) async throws {
        let (pair, kept, wait) = try await waiting()
        let uploader = pair.uploader
        switch what {
        case "ends": pair.received.close()
        case "declines": pair.received.send(.decline)
        default: uploader.connection.close()
        }
        try await wait.value
        withExtendedLifetime(kept) {}
    }

    /// Shows P281.
    @Test func `waiting for a buffer ends if the receiver releases none`() async throws {
        var pair = try await SharedPair(directory, .init(sharing: .allowed(buffers: 1)), waitsForBuffers: false)
        pair.uploader.machine.withLock { $0.sharing.longestWait = 1_000_000 }
        try await pair.sharing()
        pair.uploader.send(try pair.drawn(1))
        let kept = try await pair.next()
        for value in 2..<5 as Range<UInt8> {
            try await pair.uploader.waitForBuffer()
            let image = try pair.drawn(value)
            #expect(!(image.lender is SharedClaim))
            pair.uploader.send(image)
            #expect(try FrameDecoder().decode(try await pair.next(), as: .gray).image.row(0)[0] == value)
        }
        withExtendedLifetime(kept) {}
    }

    /// Shows P281.
    @Test func `nothing is waited for if nothing is shared, or if the program holds every buffer`() async throws {
        let off = try await SharedPair(directory, .init(), accepts: false)
        try await off.uploader.waitForBuffer()
        off.server.close()
        let unconnected = SampleUploader(
            connection: SocketConnection(path: directory.socket),
            configuration: .init(sharing: .allowed())
        )
        try await unconnected.waitForBuffer()
        unconnected.connection.close()

        let pair = try await SharedPair(directory, .init(sharing: .allowed(buffers: 2)))
        try await pair.sharing()
        let held = try (0..<2).map { try pair.drawn(UInt8($0)) }
        try await pair.uploader.waitForBuffer()
        #expect(held.allSatisfy { $0.lender is SharedClaim })
        #expect(try !(pair.drawn(2).lender is SharedClaim))
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
