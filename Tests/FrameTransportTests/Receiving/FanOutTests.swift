import FrameSocketTesting
import FrameTransport
import FrameWire
import TestSupport
import Testing

/// One sender's frames for several readers.
@Suite(.timeLimit(.minutes(5))) struct FanOutTests {
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
            #expect(try await fast.next()?.jpeg?.array() == body(seed, count: 12_000))
        }
        // The fast reader has had the last frame; the slow one's place holds it, or will before it reads.
        #expect(await becomesTrue { slow.supersededFrames == 19 })
        var late = slow.makeAsyncIterator()
        #expect(try await late.next()?.jpeg?.array() == body(19, count: 12_000))
    }

    /// Shows P222.
    @Test func `a reader gets the frames in order, and one that joins late begins with the last`() async throws {
        var source = connection.frames.makeAsyncIterator()
        let fanOut = FrameConnection.Broadcaster()
        let slow = fanOut.reader()
        var frames = slow.makeAsyncIterator()
        for seed in 0..<3 {
            try await send(seed)
            fanOut.publish(try #require(try await source.next()))
            if seed == 0 { #expect(try await frames.next()?.index == 0) }
        }
        var late = fanOut.reader().makeAsyncIterator()
        fanOut.end(.closedLocally(.stoppedByUser))
        #expect(try await late.next()?.index == 2)
        #expect(try await frames.next()?.index == 2)
        #expect(slow.supersededFrames == 1)
        #expect(try await late.next() == nil)
        #expect(try await frames.next() == nil)
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

    /// Shows P133.
    @Test func `releasing a reader removes it`() async throws {
        let fanOut = FrameConnection.Broadcaster(of: connection)
        var reader: FrameConnection.Broadcaster.Reader? = fanOut.reader()
        #expect(fanOut.readerCount == 1)
        #expect(reader?.supersededFrames == 0)
        reader = nil
        #expect(fanOut.readerCount == 0)
    }

    /// Shows P133.
    @Test func `a fan-out that nobody holds ends its silent connection`() async throws {
        let directory = try TemporaryDirectory()
        let server = try directory.server()
        let sender = try PeerSocket.connected(to: directory.socket)
        do {
            let fanOut = FrameConnection.Broadcaster(of: try #require(try await firstConnection(of: server)))
            #expect(fanOut.readerCount == 0)
        }
        #expect(try await soon { try await sender.read(1) } == [], "the sender is still connected")
    }

    /// Shows P133.
    @Test func `a fan-out's last reader keeps its connection, and ends it when released`() async throws {
        let directory = try TemporaryDirectory()
        let server = try directory.server()
        let sender = try PeerSocket.connected(to: directory.socket)
        try await {
            var frames = FrameConnection.Broadcaster(of: try #require(try await firstConnection(of: server))).reader()
                .makeAsyncIterator()
            try await sender.write(message(body(1, count: 300)))
            #expect(try await frames.next()?.jpeg?.array() == body(1, count: 300))
        }()
        #expect(try await soon { try await sender.read(1) } == [], "the sender is still connected")
    }
}
