import FrameSocketTesting
import FrameTransport
import FrameWire
import TestSupport
import Testing

/// One sender's frames for several readers.
@Suite(.timeLimit(.minutes(5))) struct FanOutTests {
    private let pool = FrameBytes.Pool(maximumIdleBytes: 16 << 20)
    private let directory: TemporaryDirectory
    private let server: FrameServer
    private let sender: PeerSocket

    init() throws {
        directory = try TemporaryDirectory()
        server = try directory.server { [pool] in $0.pool = pool }
        sender = try PeerSocket.connected(to: directory.socket)
    }

    /// Broadcasts the frames of the sender's connection, which nobody else keeps.
    private func broadcast() async throws -> FrameConnection.Broadcaster {
        FrameConnection.Broadcaster(of: try #require(try await firstConnection(of: server)))
    }

    private func send(_ seed: Int) async throws {
        try await sender.write(message(body(seed, count: 12_000)))
    }

    private static let frames = (0..<10).map { index in
        let info = FrameInfo(bufferSize: BufferSize(width: 1, height: 1))
        return Frame(.jpeg(FrameBytes([])), header: FrameHeader(contentLength: 0, info: info), index: index)
    }

    /// The numbers of the frames that a reader of an ended fan-out gets.
    private func numbers(_ reader: FrameConnection.Broadcaster.Reader) async throws -> [Int] {
        var numbers: [Int] = []
        for try await frame in reader { numbers.append(frame.index) }
        return numbers
    }

    @Test func `any number of readers have the same bytes, in the memory that they were received in`() async throws {
        let fanOut = try await broadcast()
        var readers = (0..<64).map { _ in fanOut.reader().makeAsyncIterator() }
        var held: [FrameBytes] = []
        for seed in 0..<4 {
            try await send(seed)
            for index in readers.indices { held.append(try #require(try await readers[index].next()?.jpeg)) }
            #expect(held.last?.array() == body(seed, count: 12_000))
        }
        #expect(held.count == 256 && Set(held.map(ObjectIdentifier.init)).count == 4)
        // Four, one that is being filled, and one of the size that is tried first.
        #expect(pool.allocations <= 6)
    }

    /// Shows P221.
    @Test func `a slow reader misses frames, which are counted, and delays no other`() async throws {
        let fanOut = try await broadcast()
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

    /// Shows P222, P224.
    @Test func `a reader gets the frames in order, and one that joins late begins with the last`() async throws {
        let fanOut = FrameConnection.Broadcaster()
        let slow = fanOut.reader()
        var frames = slow.makeAsyncIterator()
        for frame in Self.frames[..<3] {
            fanOut.publish(frame)
            if frame.index == 0 { #expect(try await frames.next()?.index == 0) }
        }
        let late = fanOut.reader()
        fanOut.end(.closedLocally(.stoppedByUser))
        fanOut.publish(Self.frames[3])
        #expect(try await [numbers(late), numbers(slow), numbers(fanOut.reader())] == [[2], [2], [2]])
        #expect(slow.supersededFrames == 1)
    }

    /// Shows P222.
    @Test func `readers agree on the last frame, whichever task published it and whenever they joined`() async throws {
        let frames = Self.frames
        let fanOuts = (0..<2000).map { _ in FrameConnection.Broadcaster() }
        var readers = fanOuts.map { [$0.reader(), $0.reader()] }
        for fanOut in fanOuts { fanOut.publish(frames[0]) }
        // Both tasks come to each fan-out at the same time: one publishes, and the other one publishes too, or joins.
        let arrivals = Counter()
        async let publishing: Void = {
            for (round, fanOut) in fanOuts.enumerated() {
                await arrivals.meet(2 * round + 2)
                // More or fewer, so that the last one comes at every moment of a join.
                for index in 1...1 + round / 2 % 8 { fanOut.publish(frames[index]) }
            }
        }()
        for (round, fanOut) in fanOuts.enumerated() {
            await arrivals.meet(2 * round + 2)
            if round.isMultiple(of: 2) { fanOut.publish(frames[9]) } else { readers[round].append(fanOut.reader()) }
        }
        await publishing
        for (fanOut, readers) in zip(fanOuts, readers) {
            let last = fanOut.reader()
            fanOut.end(.closedLocally(.stoppedByUser))
            let expected = try await numbers(last)
            for reader in readers { #expect(try await numbers(reader) == expected) }
        }
    }

    /// Shows P224.
    @Test(arguments: [nil, TransportError.Code.malformedMessage])
    func `an orderly end ends every reader, and a failure reaches every reader`(failure: TransportError.Code?)
        async throws
    {
        let fanOut = try await broadcast()
        let early = fanOut.reader()
        try await send(1)
        if failure != nil { try await sender.write(Array("nonsense".utf8)) }
        sender.finishWriting()
        var ends: [TransportError?] = []
        // The second one joins after the end.
        for reader in [0, 1] {
            var frames = (reader == 0 ? early : fanOut.reader()).makeAsyncIterator()
            #expect(try await frames.next() != nil)
            do throws(TransportError) {
                #expect(try await frames.next() == nil)
                ends.append(nil)
            } catch {
                ends.append(error)
            }
        }
        #expect(ends.map { $0?.code } == [failure, failure] && ends[0] == ends[1])
    }

    /// Shows P133.
    @Test func `releasing a reader removes it`() async throws {
        let fanOut = FrameConnection.Broadcaster()
        var reader: FrameConnection.Broadcaster.Reader? = fanOut.reader()
        #expect(fanOut.readerCount == 1 && reader?.supersededFrames == 0)
        reader = nil
        #expect(fanOut.readerCount == 0)
    }

    /// Shows P133.
    @Test func `a fan-out that nobody holds ends its silent connection`() async throws {
        #expect(try await broadcast().readerCount == 0)
        #expect(try await soon { try await sender.read(1) } == [], "the sender is still connected")
    }

    /// Shows P133.
    @Test func `a fan-out's last reader keeps its connection, and ends it when released`() async throws {
        try await {
            var frames = try await broadcast().reader().makeAsyncIterator()
            try await send(1)
            #expect(try await frames.next()?.jpeg?.array() == body(1, count: 12_000))
        }()
        #expect(try await soon { try await sender.read(1) } == [], "the sender is still connected")
    }
}

extension Counter {
    /// Waits until so many have come, this one included.
    fileprivate func meet(_ count: Int) async {
        increment()
        while value < count { await Task.yield() }
    }
}
