import FrameSocketTesting
import FrameTransport
import Locking
import TestSupport
import Testing

@testable import FrameSocket
@testable import TurboJPEG

/// Frames in shared memory, between an uploader and a server of this process.
@Suite struct SharedFrameTests {
    private let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    /// An uploader that allows shared memory, and the connection on which a server received it.
    fileprivate struct Pair {
        let server: FrameServer
        let received: FrameConnection
        let uploader: SampleUploader
        var frames: FrameConnection.Frames.Iterator

        init(
            _ directory: TemporaryDirectory,
            _ configuration: SampleUploader.Configuration = .init(sharing: .allowed()),
            accepts: Bool = true,
            waitsForBuffers: Bool = true
        ) async throws {
            var settings = FrameServer.Configuration()
            settings.acceptsSharedMemory = accepts
            server = try FrameServer(at: directory.socket, configuration: settings)
            let connection = SocketConnection(path: directory.socket)
            uploader = SampleUploader(connection: connection, configuration: configuration)
            // A test that keeps buffers may take its time.
            if waitsForBuffers { uploader.machine.withLock { $0.longestBufferWait = 3_600_000_000_000 } }
            var connections = server.connections.makeAsyncIterator()
            received = try #require(try await connections.next())
            frames = received.frames.makeAsyncIterator()
        }

        mutating func next() async throws -> Frame { try #require(try await frames.next()) }
    }

    @Test(arguments: PixelFormat.allCases)
    func `an image of any format arrives in the sender's memory, unchanged`(format: PixelFormat) async throws {
        var pair = try await Pair(directory)
        let image = try testImage(61, 47, as: format)
        #expect(pair.uploader.send(image, orientation: .right, timestamp: 77) == .taken)
        let frame = try await pair.next()
        let shared = try #require(frame.shared)
        #expect(frame.jpeg.count == 0 && frame.bufferSize == BufferSize(width: 61, height: 47))
        #expect(frame.orientation == .right && frame.timestamp == 77 && frame.sequence == 0)
        #expect(shared.format.rawValue == format.name && shared.changedRows == 0..<47)
        let decoded = try FrameDecoder().decode(frame, as: format)
        #expect(decoded.hasSamePixels(as: image))
        let address = shared.withPlane(0) { bytes, _ in
            unsafe bytes.withUnsafeBufferPointer { UInt(bitPattern: $0.baseAddress) }
        }
        #expect(decoded.address == address, "the image is a copy")
    }

    @Test func `an image drawn in a buffer of the uploader is sent without a copy`() async throws {
        var pair = try await Pair(directory)
        try await pair.sharing()
        for index in 0..<8 {
            // The receiver's releases may still be on their way.
            try await pair.uploader.waitForBuffer()
            var image = try pair.uploader.makeBuffer(width: 64, height: 32, format: .bgra)
            #expect(image.lender is SharedClaim)
            try image.fill(UInt8(index))
            #expect(pair.uploader.send(consume image) == .taken)
            let frame = try await pair.next()
            let decoded = try FrameDecoder().decode(frame)
            #expect(decoded.row(31) == [UInt8](repeating: UInt8(index), count: 256))
            try await pair.uploader.finish()
        }
        #expect(pair.uploader.statistics.shared == 8 && pair.uploader.statistics.sent == 8)
    }

    @Test func `drawing in an image that was sent changes a copy, as long as the receiver has it and afterwards`()
        async throws
    {
        var pair = try await Pair(directory)
        try await pair.sharing()
        var images = try (0..<2).map { _ in try pair.uploader.makeBuffer(width: 16, height: 16, format: .gray) }
        var received: [PixelBuffer] = []
        for index in images.indices {
            try images[index].fill(UInt8(index + 1))
            #expect(pair.uploader.send(images[index]) == .taken)
            received.append(try FrameDecoder().decode(try await pair.next(), as: .gray))
            try await pair.uploader.finish()
        }
        // The uploader has let go of the first one: only the program and the receiver have it.
        for index in images.indices { try images[index].fill(99) }
        #expect(received[0].row(0) == [UInt8](repeating: 1, count: 16))
        #expect(received[1].row(0) == [UInt8](repeating: 2, count: 16))
        #expect(images[0].row(0) == [UInt8](repeating: 99, count: 16) && !(images[0].lender is SharedClaim))
    }

    @Test(arguments: [1, 3]) func `an image of another uploader's buffers arrives as it was drawn`(buffers: Int)
        async throws
    {
        var first = try await Pair(directory)
        var second = try await Pair(try TemporaryDirectory(), .init(sharing: .allowed(buffers: buffers)))
        try await first.sharing()
        try await second.sharing()
        // A frame of the second uploader's own is in the buffer of the same number.
        #expect(second.uploader.send(try testImage(16, 16, as: .gray)) == .taken)
        _ = try await second.next()
        try await second.uploader.finish()
        // The last one is in a buffer that the second uploader may not have.
        var images = try (0..<3).map { _ in try first.uploader.makeBuffer(width: 16, height: 16, format: .gray) }
        for (index, number) in zip(images.indices, 40...42 as ClosedRange<UInt8>) {
            try images[index].fill(number)
            #expect(first.uploader.send(images[index]) == .taken)
            #expect(
                try FrameDecoder().decode(try await first.next(), as: .gray).row(3)
                    == [UInt8](repeating: number, count: 16)
            )
            #expect(second.uploader.send(images[index]) == .taken)
            #expect(
                try FrameDecoder().decode(try await second.next(), as: .gray).row(3)
                    == [UInt8](repeating: number, count: 16)
            )
        }
    }

    @Test(arguments: [PixelFormat.i420, .nv12])
    func `the changed rows of an image that is converted include those that share its chroma`(format: PixelFormat)
        async throws
    {
        var pair = try await Pair(directory)
        var image = try testImage(8, 9, as: .bgra)
        let decoder = FrameDecoder()
        #expect(pair.uploader.send(image) == .taken)
        _ = try decoder.decodeChanges(try await pair.next(), as: format)
        for (row, rows) in [(1, 0..<2), (2, 2..<4), (8, 8..<9)] {
            try await pair.uploader.finish()
            try image.withMutableRow(row) { bytes in for index in bytes.indices { bytes[index] ^= 0x55 } }
            #expect(pair.uploader.send(image) == .taken)
            #expect(try decoder.decodeChanges(try await pair.next(), as: format).changedRows == [rows])
        }
    }

    @Test func `only rows that differ from the last frame are reported`() async throws {
        var pair = try await Pair(directory)
        let decoder = FrameDecoder()
        var image = try testImage(64, 48, as: .i420)
        var held: [PixelBuffer] = []
        for index in 0..<12 {
            let row = 4 * (index % 12)
            if index > 0 { try image.withMutableRow(row) { span in for x in 0..<64 { span[x] = UInt8(200 + index) } } }
            pair.uploader.send(image)
            let frame = try await pair.next()
            let decoded = try decoder.decodeChanges(frame, as: .i420)
            #expect(decoded.image.hasSamePixels(as: image), "frame \(index)")
            let rows = try #require(decoded.changedRows.first)
            if index == 0 {
                #expect(rows == 0..<48)
            } else {
                #expect(rows == row..<row + 1, "frame \(index): \(rows)")
            }
            held = [decoded.image]
        }
        #expect(held.count == 1)
    }

    @Test(arguments: [false, true])
    func `the changed rows of a frame are those since the last decoded one, also after a JPEG`(isJPEG: Bool)
        async throws
    {
        var pair = try await Pair(directory)
        try await pair.sharing()
        // A sender that states that a frame equals the previous one in shared memory.
        let memory = try (0..<2).map { _ in try SharedMemory(byteCount: 256) }
        func submit(_ buffer: Int, changed: Range<Int>?) throws {
            let header = SharedFrameHeader(
                buffer: buffer,
                format: .gray,
                bufferSize: BufferSize(width: 16, height: 16),
                planes: [.init(offset: 0, bytesPerRow: 16)],
                changedRows: changed
            )
            let message = SharedFrameMessage(header: header, memory: memory[buffer], isNew: true)
            try pair.uploader.connection.submit(.shared(message)) { _ in }
        }
        let decoder = FrameDecoder()
        try submit(0, changed: nil)
        #expect(try decoder.decodeChanges(try await pair.next(), as: .gray).changedRows == [0..<16])
        if isJPEG {
            let jpeg = try JPEGEncoder().encode(try testImage(16, 16, as: .gray))
            let size = BufferSize(width: 16, height: 16)
            try await pair.uploader.connection.send(FrameMessage(jpeg: FrameBytes(jpeg), bufferSize: size))
            #expect(try decoder.decodeChanges(try await pair.next(), as: .gray).changedRows == [0..<16])
        }
        try submit(1, changed: 0..<0)
        let changed = try decoder.decodeChanges(try await pair.next(), as: .gray).changedRows
        #expect(changed == (isJPEG ? [0..<16] : []))
    }

    @Test func `a receiver that keeps every buffer gets the latest frame when it releases one`() async throws {
        var pair = try await Pair(directory, .init(sharing: .allowed(buffers: 2)))
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
        #expect(await becomesTrue { uploader.statistics.sent == 2 && uploader.statistics.underWay == 1 })
        kept.removeFirst()
        let frame = try await pair.next()
        #expect(try FrameDecoder().decode(frame, as: .gray).row(0) == [UInt8](repeating: 3, count: 32))
        #expect(pair.uploader.statistics.drops == [.superseded: 2])
    }

    @Test(arguments: 1...3)
    func `any number of buffers is enough for a receiver that releases each frame`(buffers: Int) async throws {
        var pair = try await Pair(directory, .init(sharing: .allowed(buffers: buffers)))
        var image = try testImage(32, 32, as: .gray)
        for value in 0..<10 {
            try image.fill(UInt8(value))
            pair.uploader.send(image)
            let frame = try await pair.next()
            #expect(frame.shared != nil)
            #expect(try FrameDecoder().decode(frame, as: .gray).row(7) == [UInt8](repeating: UInt8(value), count: 32))
        }
    }

    @Test func `a receiver that does not ask for shared memory gets JPEGs`() async throws {
        var pair = try await Pair(directory, accepts: false)
        let image = try pair.uploader.makeBuffer(width: 64, height: 64, format: .bgra)
        pair.uploader.send(image)
        let frame = try await pair.next()
        #expect(frame.shared == nil && frame.jpeg.count > 0)
    }

    @Test func `a receiver that declines gets JPEGs from then on, beginning with the latest frame`() async throws {
        var pair = try await Pair(directory)
        let image = try testImage(64, 48, as: .bgra)
        pair.uploader.send(image)
        let first = try await pair.next()
        #expect(first.shared != nil)
        pair.received.send(.decline)
        let again = try await pair.next()
        #expect(again.shared == nil && again.sequence == first.sequence)
        #expect(try FrameDecoder().decode(again).peakSignalToNoiseRatio(against: image) > 20)
        // What it still holds stays readable.
        #expect(try FrameDecoder().decode(first).hasSamePixels(as: image))
    }

    @Test(arguments: [false, true])
    func `a frame is sent again at once, held by the receiver or not`(isHeld: Bool) async throws {
        var pair = try await Pair(directory)
        let image = try testImage(64, 48, as: .nv12)
        pair.uploader.send(image)
        var first: Frame? = try await pair.next()
        let sequence = try #require(first).sequence
        if !isHeld {
            first = nil
            try await pair.uploader.finish()
        }
        pair.received.send(.refresh)
        let again = try await pair.next()
        #expect(again.sequence == sequence)
        #expect(try FrameDecoder().decode(again, as: .nv12).hasSamePixels(as: image))
        withExtendedLifetime(first) {}
        #expect(pair.uploader.statistics.sent == 1)
    }

    @Test func `scale and orientation apply, and preferences of the receiver`() async throws {
        var pair = try await Pair(directory, .init(appliesOrientation: true, sharing: .allowed()))
        let image = try testImage(64, 32, as: .bgra)
        pair.uploader.send(image, orientation: .right)
        let turned = try await pair.next()
        #expect(turned.bufferSize == BufferSize(width: 32, height: 64) && turned.orientation == .up)
        #expect(turned.shared != nil)
        pair.received.send(.prefer(ControlRequest.Preferences(size: BufferSize(width: 16, height: 16))))
        while pair.uploader.configuration.scale == .full { await Task.yield() }
        pair.uploader.send(image)
        let small = try await pair.next()
        #expect(small.shared != nil && small.bufferSize == BufferSize(width: 16, height: 8))
    }

    @Test(arguments: [PixelFormat.bgra, .rgb, .i420], ["declines", "keeps it", "more buffers"])
    func `a frame that was scaled and turned is not scaled and turned again if the receiver`(
        format: PixelFormat,
        what: String
    ) async throws {
        let configuration = SampleUploader.Configuration(
            scale: .half,
            appliesOrientation: true,
            sharing: .allowed(buffers: 1)
        )
        var pair = try await Pair(directory, configuration, waitsForBuffers: false)
        pair.uploader.machine.withLock { $0.longestBufferWait = 1_000_000 }
        #expect(pair.uploader.send(try testImage(640, 480, as: format), orientation: .right) == .taken)
        let first = try await pair.next()
        #expect(first.shared != nil && first.bufferSize == BufferSize(width: 240, height: 320))
        switch what {
        case "declines": pair.received.send(.decline)
        case "keeps it": pair.received.send(.refresh)
        default:
            // The frame leaves the buffers of the connection, and is copied to one of the new ones.
            try await pair.uploader.finish()
            pair.uploader.update { $0.sharing = .allowed(buffers: 2) }
            pair.received.send(.refresh)
        }
        let again = try await pair.next()
        #expect(again.sequence == first.sequence && (again.shared != nil) == (what == "more buffers"))
        #expect(again.bufferSize == first.bufferSize && again.orientation == .up)
        let image = try FrameDecoder().decode(first)
        #expect(try FrameDecoder().decode(again).peakSignalToNoiseRatio(against: image) > 20)
        #expect(pair.uploader.statistics.drops.isEmpty)
    }

    @Test func `the next receiver gets the latest frame in buffers of its own`() async throws {
        var settings = FrameServer.Configuration()
        settings.acceptsSharedMemory = true
        let server = try FrameServer(at: directory.socket, configuration: settings)
        let connection = SocketConnection(path: directory.socket)
        let uploader = SampleUploader(connection: connection, configuration: .init(sharing: .allowed()))
        // Kept until the first receiver has said hello, and for every one after it.
        let image = try testImage(64, 48, as: .bgra)
        var connections = server.connections.makeAsyncIterator()
        var kept: [Frame] = []
        for _ in 0..<4 {
            let received = try #require(try await connections.next())
            if kept.isEmpty { uploader.send(image) }
            var frames = received.frames.makeAsyncIterator()
            let frame = try #require(try await frames.next())
            #expect(frame.shared != nil && frame.sequence == 0)
            kept.append(frame)
            received.close()
        }
        #expect(kept.count == 4)
        for frame in kept { #expect(try FrameDecoder().decode(frame).hasSamePixels(as: image)) }
    }

    // MARK: Buffers that nobody releases

    @Test(arguments: 1...3)
    func `a receiver that keeps every buffer gets the next frames as JPEGs`(buffers: Int) async throws {
        var pair = try await Pair(directory, .init(sharing: .allowed(buffers: buffers)), waitsForBuffers: false)
        pair.uploader.machine.withLock { $0.longestBufferWait = 1_000_000 }
        let image = try testImage(32, 32, as: .gray)
        var kept: [Frame] = []
        for index in 0..<buffers + 4 {
            #expect(pair.uploader.send(image) == .taken)
            let frame = try await pair.next()
            #expect((frame.shared != nil) == (index < buffers), "frame \(index)")
            #expect(try FrameDecoder().decode(frame, as: .gray).peakSignalToNoiseRatio(against: image) > 20)
            if frame.shared != nil { kept.append(frame) }
            try await pair.uploader.finish()
        }
        // A frame that is repeated needs no buffer either.
        pair.received.send(.refresh)
        #expect(try await pair.next().shared == nil)
        kept.removeAll()
        let uploader = pair.uploader
        #expect(await becomesTrue { uploader.machine.withLock { $0.pool.usedCount == 0 } })
        #expect(uploader.send(image) == .taken)
        #expect(try await pair.next().shared != nil)
    }

    @Test(arguments: 1...3)
    func `a program that holds every buffer can send other images, and wait for them`(buffers: Int) async throws {
        var pair = try await Pair(directory, .init(sharing: .allowed(buffers: buffers)))
        try await pair.sharing()
        let held = try (0..<buffers).map { try pair.drawn(UInt8($0)) }
        for value in 0..<4 as Range<UInt8> {
            var image = try testImage(32, 32, as: .gray)
            try image.fill(value)
            #expect(pair.uploader.send(image) == .taken)
            try await pair.uploader.finish()
            let frame = try await pair.next()
            #expect(frame.shared == nil)
            #expect(try FrameDecoder().decode(frame, as: .gray).row(9)[9] == value)
        }
        // Those that it holds are sent in place all the same.
        pair.uploader.send(held[0])
        #expect(try await pair.next().shared != nil)
    }

    @Test(arguments: 1...3)
    func `readers that take nothing hold up no other reader of a broadcaster`(buffers: Int) async throws {
        let pair = try await Pair(directory, .init(sharing: .allowed(buffers: buffers)), waitsForBuffers: false)
        pair.uploader.machine.withLock { $0.longestBufferWait = 1_000_000 }
        let broadcaster = FrameBroadcaster(of: pair.received)
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
        var pair = try await Pair(directory, configuration)
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

    @Test func `the memory of buffers that nobody uses makes room for a larger image`() async throws {
        let large = try testImage(256, 192, as: .bgra)
        var configuration = SampleUploader.Configuration(quality: 100, sharing: .allowed())
        let need = FrameEncoder().memoryNeed(.pixels(large), .up, configuration)
        configuration = .init(quality: 100, sharing: .allowed(), maximumMemory: need.total - need.workspace)
        var pair = try await Pair(directory, configuration)
        try await pair.sharing()
        let uploader = pair.uploader
        for round in 0..<3 {
            for value in 0..<4 as Range<UInt8> {
                var drawn = try uploader.makeBuffer(width: 64, height: 48, format: .bgra)
                try drawn.fill(value)
                #expect(uploader.send(consume drawn) == .taken)
                let frame = try await pair.next()
                #expect(frame.shared != nil)
                #expect(try FrameDecoder().decode(frame).row(7) == [UInt8](repeating: value, count: 256))
            }
            try await uploader.finish()
            #expect(await becomesTrue { uploader.machine.withLock { !$0.pool.isAnyWithReceiver } })
            #expect(uploader.machine.withLock { $0.pool.byteCount } > 0)
            // The frame sent last is in one of them, and gives way too.
            try #require(uploader.send(large) == .taken)
            try await uploader.finish()
            #expect(try await pair.next().bufferSize.width == 256, "round \(round)")
        }
    }

    // MARK: Waiting for a buffer

    @Test func `waiting for a buffer ends when the receiver releases one, and every image is then drawn in place`()
        async throws
    {
        var pair = try await Pair(directory, .init(sharing: .allowed(buffers: 2)))
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
            #expect(try FrameDecoder().decode(kept[1], as: .gray).row(0) == [UInt8](repeating: UInt8(value), count: 8))
        }
        #expect(pair.uploader.statistics.drops.isEmpty && pair.uploader.statistics.shared == 10)
    }

    /// The receiver keeps the first frame, in buffer 0, while the number of buffers changes.
    @Test(arguments: [[2], [1], [8, 1, 3], [nil, 3], [nil, 1]] as [[Int?]])
    func `the number of buffers can change while the receiver has some`(counts: [Int?]) async throws {
        var pair = try await Pair(directory)
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
        #expect(try FrameDecoder().decode(last, as: .gray).row(0) == [UInt8](repeating: 3, count: 8))
        #expect(last.shared != nil)
        pair.uploader.connection.close()
    }

    @Test func `waiting for a buffer can be cancelled`() async throws {
        var pair = try await Pair(directory, .init(sharing: .allowed(buffers: 1)))
        try await pair.sharing()
        pair.uploader.send(try pair.drawn(1))
        let kept = try await pair.next()
        let uploader = pair.uploader
        let wait = Task { try await uploader.waitForBuffer() }
        try #require(await becomesTrue { uploader.waiterCount == 1 })
        wait.cancel()
        await #expect(throws: TransportError(.cancelled, "waiting for a shared buffer was cancelled")) {
            try await wait.value
        }
        #expect(uploader.waiterCount == 0)
        withExtendedLifetime(kept) {}
    }

    @Test(arguments: ["ends", "declines", "closes"])
    func `waiting for a buffer ends if the receiver`(_ what: String) async throws {
        var pair = try await Pair(directory, .init(sharing: .allowed(buffers: 1)))
        try await pair.sharing()
        pair.uploader.send(try pair.drawn(1))
        let kept = try await pair.next()
        let uploader = pair.uploader
        let wait = Task { try await uploader.waitForBuffer() }
        try #require(await becomesTrue { uploader.waiterCount == 1 })
        switch what {
        case "ends": pair.received.close()
        case "declines": pair.received.send(.decline)
        default: uploader.connection.close()
        }
        try await wait.value
        withExtendedLifetime(kept) {}
    }

    @Test func `waiting for a buffer ends if the receiver releases none`() async throws {
        var pair = try await Pair(directory, .init(sharing: .allowed(buffers: 1)), waitsForBuffers: false)
        pair.uploader.machine.withLock { $0.longestBufferWait = 1_000_000 }
        try await pair.sharing()
        pair.uploader.send(try pair.drawn(1))
        let kept = try await pair.next()
        for value in 2..<5 as Range<UInt8> {
            try await pair.uploader.waitForBuffer()
            let image = try pair.drawn(value)
            #expect(!(image.lender is SharedClaim))
            pair.uploader.send(image)
            #expect(try FrameDecoder().decode(try await pair.next(), as: .gray).row(0)[0] == value)
        }
        withExtendedLifetime(kept) {}
    }

    @Test func `nothing is waited for if nothing is shared, or if the program holds every buffer`() async throws {
        let off = try await Pair(directory, .init(), accepts: false)
        try await off.uploader.waitForBuffer()
        off.server.close()
        let unconnected = SampleUploader(
            connection: SocketConnection(path: directory.socket),
            configuration: .init(sharing: .allowed())
        )
        try await unconnected.waitForBuffer()
        unconnected.connection.close()

        let pair = try await Pair(directory, .init(sharing: .allowed(buffers: 2)))
        try await pair.sharing()
        let held = try (0..<2).map { try pair.drawn(UInt8($0)) }
        try await pair.uploader.waitForBuffer()
        #expect(held.allSatisfy { $0.lender is SharedClaim })
        #expect(try !(pair.drawn(2).lender is SharedClaim))
    }

    @Test func `an image drawn in place is on the wire when send returns, and its buffer is free when it is released`()
        async throws
    {
        var pair = try await Pair(directory, .init(sharing: .allowed(buffers: 2)))
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

extension SharedFrameTests.Pair {
    /// Waits until the uploader has heard that the receiver accepts shared memory.
    fileprivate func sharing() async throws {
        try #require(await becomesTrue { uploader.isSharing })
    }

    /// A gray image of eight by eight pixels, drawn in a buffer of the uploader.
    fileprivate func drawn(_ value: UInt8) throws -> PixelBuffer {
        var image = try uploader.makeBuffer(width: 8, height: 8, format: .gray)
        try image.fill(value)
        return image
    }
}
