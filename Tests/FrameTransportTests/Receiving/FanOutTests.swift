import FrameSocketTesting
import FrameTransport
import FrameWire
import TestSupport
import Testing

/// One sender's frames for several readers.
@Suite struct FanOutTests {
    let directory: TemporaryDirectory
    let server: FrameServer
    let sender: PeerSocket
    let connection: FrameConnection

    init() async throws {
        directory = try TemporaryDirectory()
        server = try directory.server()
        sender = try PeerSocket.connected(to: directory.socket)
        connection = try #require(try await firstConnection(of: server))
    }

    private func send(_ seed: Int) async throws {
        try await sender.write(message(body(seed, count: 12_000)))
    }

    /// Shows P220.
    @Test func `every reader that keeps up gets every frame`() async throws {
        let fanOut = FrameConnection.Broadcaster(of: connection)
        var readers = (0..<3).map { _ in fanOut.reader().makeAsyncIterator() }
        for seed in 0..<20 {
            try await send(seed)
            for index in readers.indices {
                #expect(try await readers[index].next()?.jpeg?.array() == body(seed, count: 12_000))
            }
        }
    }

    @Test func `any number of readers have the same bytes, in the memory that they were received in`() async throws {
        let directory = try TemporaryDirectory()
        let pool = FrameBytes.Pool(maximumIdleBytes: 16 << 20)
        let server = try directory.server { $0.pool = pool }
        let sender = try PeerSocket.connected(to: directory.socket)
        let fanOut = FrameConnection.Broadcaster(of: try #require(try await firstConnection(of: server)))
        var readers = (0..<64).map { _ in fanOut.reader().makeAsyncIterator() }
        var held: [FrameBytes] = []
        for seed in 0..<4 {
            try await sender.write(message(body(seed, count: 12_000)))
            for index in readers.indices {
                held.append(try #require(try await readers[index].next()?.jpeg))
            }
            #expect(held.last?.array() == body(seed, count: 12_000))
        }
        #expect(held.count == 256 && Set(held.map(ObjectIdentifier.init)).count == 4)
        // Four, one that is being filled, and one of the size that is tried first.
        #expect(pool.allocations <= 6)
    }

    /// Shows P221.
    @Test func `a slow reader misses frames, which are counted, and delays no other`() async throws {
        let fanOut = FrameConnection.Broadcaster(of: connection)
        let slow = fanOut.reader()
        var fast = fanOut.reader().makeAsyncIterator()
        for seed in 0..<20 {
            try await send(seed)
            _ = try await fast.next()
        }
        // The fast reader has had the last frame; the slow one's place holds it, or will before it reads.
        #expect(await becomesTrue { slow.supersededFrames == 19 })
        var late = slow.makeAsyncIterator()
        #expect(try await late.next()?.jpeg?.array() == body(19, count: 12_000))
    }

    @Test func `readers agree on the last frame, whichever thread published it`() async throws {
        var source = connection.frames.makeAsyncIterator()
        var frames: [Frame] = []
        for seed in 0..<2 {
            try await send(seed)
            frames.append(try #require(try await source.next()))
        }
        for _ in 0..<50 {
            let fanOut = FrameConnection.Broadcaster()
            let readers = (0..<4).map { _ in fanOut.reader() }
            await withTaskGroup { group in
                for frame in frames {
                    group.addTask { for _ in 0..<100 { fanOut.publish(frame) } }
                }
            }
            var last: Set<Int> = []
            for reader in readers + [fanOut.reader()] {
                var iterator = reader.makeAsyncIterator()
                last.insert(try #require(try await iterator.next()).index)
            }
            #expect(last.count == 1)
        }
    }

    /// Shows P223.
    @Test func `a reader that joins late gets the last frame at once`() async throws {
        let fanOut = FrameConnection.Broadcaster(of: connection)
        var first = fanOut.reader().makeAsyncIterator()
        try await send(7)
        _ = try await first.next()
        var late = fanOut.reader().makeAsyncIterator()
        #expect(try await late.next()?.jpeg?.array() == body(7, count: 12_000))
    }

    /// Shows P224.
    @Test func `an orderly end ends every reader, and a failure reaches every reader`() async throws {
        let fanOut = FrameConnection.Broadcaster(of: connection)
        let reader = fanOut.reader()
        try await send(1)
        try await sender.write(Array("nonsense".utf8))
        var frames = reader.makeAsyncIterator()
        #expect(try await frames.next() != nil)
        let error = await #expect(throws: TransportError.self) { try await frames.next() }
        #expect(error?.code == .malformedMessage)
        var late = fanOut.reader().makeAsyncIterator()
        #expect(try await late.next() != nil)
        let lateError = await #expect(throws: TransportError.self) { try await late.next() }
        #expect(lateError == error)
    }

    /// Shows P189, P224.
    @Test func `every reader is told that a departed sender's frames were dropped`() async throws {
        let directory = try TemporaryDirectory()
        let server = try directory.server { $0.memory = FrameServer.MemoryBudget(maximumBytes: 64 << 10) }
        let visitor = try PeerSocket.connected(to: directory.socket)
        let connection = try #require(try await firstConnection(of: server))
        // More than the budget keeps of a sender that has left.
        for seed in 0..<6 { try await visitor.write(message(body(seed, count: 20_000))) }
        visitor.close()
        #expect(try await soon { try await connection.closed() } == .closedByPeer(.stoppedByUser))
        #expect(await becomesTrue { server.statistics.droppedSenders == 1 })
        let fanOut = FrameConnection.Broadcaster(of: connection)
        for _ in 0..<2 {
            var frames = fanOut.reader().makeAsyncIterator()
            let error = await #expect(throws: TransportError.self) { try await frames.next() }
            #expect(error?.code == .departedSenderDropped)
        }
    }

    /// Shows P225.
    @Test func `releasing a reader removes it`() async throws {
        let fanOut = FrameConnection.Broadcaster(of: connection)
        var reader: FrameConnection.Broadcaster.Reader? = fanOut.reader()
        #expect(fanOut.readerCount == 1)
        #expect(reader?.supersededFrames == 0)
        reader = nil
        #expect(fanOut.readerCount == 0)
    }
}
