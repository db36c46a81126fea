import FrameSocketTesting
import FrameWire
import Locking
import TestDescriptions
import TestSupport
import Testing

@testable import FrameTransport

/// What departed senders left is bounded: beyond that the oldest is dropped and counted, and whoever asks for it is told.
@Suite(.timeLimit(.minutes(5))) struct DroppedVisitorTests {
    let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    /// Connects, sends a frame, and leaves; returns when the server has seen that.
    private func visit(_ number: Int, size: Int = 500) async throws {
        let visitor = try PeerSocket.connected(to: directory.socket)
        try await visitor.write(message(body(number, count: size)))
        visitor.finishWriting()
        try await visitor.otherEndEnded()
        visitor.close()
    }

    @Test func `of visitors that nobody accepts the latest are kept, and the others are counted`() async throws {
        let server = try directory.server { $0.limits.maximumConnections = 4 }
        for number in 0..<10 {
            try await visit(number)
            // Its end is noticed before the next one comes.
            let expected = max(0, number - 3)
            #expect(
                await becomesTrue { server.statistics.droppedSenders == expected },
                "\(server.statistics.droppedSenders) were dropped"
            )
            await server.settle()
        }
        #expect(server.statistics.refusedConnections == 0)
        server.close()
        var numbers: [Int] = []
        for try await connection in server.connections {
            var frames = connection.frames.makeAsyncIterator()
            let bytes = try await frames.next()?.jpeg?.array()
            numbers.append((0..<10).first { bytes == body($0, count: 500) } ?? -1)
        }
        #expect(numbers == [6, 7, 8, 9])
    }

    @Test(.leftOut(of: .faults, because: "it relies on the order in which visitors are accepted"))
    func `a visitor's frames that gave way to others are reported by an error, and its end stays orderly`()
        async throws
    {
        // 256 KiB for what departed senders leave, and for large frames.
        let server = try directory.server {
            $0.memory = FrameServer.MemoryBudget(maximumBytes: 512 << 10)
            $0.limits.maximumConnections = 8
        }
        var connections: [FrameConnection] = []
        for number in 0..<6 {
            try await visit(number, size: 100 << 10)
            connections.append(try #require(try await soon { try await firstConnection(of: server) } ?? nil))
        }
        for connection in connections {
            #expect(try await soon { try await connection.closed() } == .closedByPeer(.stoppedByUser))
        }
        // By then the last of them has taken the room of those before it.
        await server.settle()
        var kept: [Int] = []
        for (number, connection) in connections.enumerated() {
            var frames = connection.frames.makeAsyncIterator()
            do throws(TransportError) {
                let bytes = try await frames.next()?.jpeg?.array()
                #expect(bytes == body(number, count: 100 << 10))
                kept.append(number)
                #expect(try await frames.next() == nil)
            } catch {
                #expect(error.code == .departedSenderDropped)
            }
        }
        // The latest are kept, and no more than there is room for.
        #expect(!kept.isEmpty && kept.count <= 2 && kept == Array(6 - kept.count..<6), "\(kept) were kept")
        #expect(server.statistics.droppedSenders == 6 - kept.count, "\(server.statistics.droppedSenders) were counted")
        withExtendedLifetime(server) {}
    }

    /// Shows P189.
    @Test func `a frame of a visitor that left within the next header, and was followed by another, is named`()
        async throws
    {
        let events = Locked<[TransportEvent]>([])
        let server = try directory.server {
            $0.limits.maximumConnections = 1
            $0.log = { event in events.withLock { $0.append(event) } }
        }
        for number in 1...2 {
            let visitor = try PeerSocket.connected(to: directory.socket)
            try await visitor.write(message(body(number, count: 500)) + message(body(9, count: 500)).prefix(40))
            visitor.close()
            #expect(
                await becomesTrue {
                    server.statistics.acceptedConnections == number && server.statistics.connections == 0
                }
            )
            await server.settle()
        }
        // Only one sender that has left may wait: the first one's frame is lost, and that is said.
        let dropped = events.withLock { $0.filter { $0.code == .departedSenderDropped } }
        #expect(dropped.map(\.connection) == [1] && dropped.first?.error?.code == .departedSenderDropped)
        #expect(server.statistics.droppedSenders == 1 && server.statistics.refusedConnections == 0)
        let connection = try #require(try await soon { try await firstConnection(of: server) } ?? nil)
        var frames = connection.frames.makeAsyncIterator()
        #expect(try await frames.next()?.jpeg?.array() == body(2, count: 500))
        let error = await #expect(throws: TransportError.self) { try await frames.next() }
        #expect(error?.code == .malformedMessage)
        #expect(server.statistics.frames == 1 && server.statistics.discardedFrames == 1)
    }

    @Test func `a visitor's frames that were accepted in time do not count as dropped`() async throws {
        let server = try directory.server { $0.limits.maximumConnections = 2 }
        for number in 0..<20 {
            try await visit(number)
            let connection = try #require(try await soon { try await firstConnection(of: server) } ?? nil)
            var frames = connection.frames.makeAsyncIterator()
            #expect(try await frames.next()?.jpeg?.array() == body(number, count: 500))
            #expect(try await frames.next() == nil)
        }
        #expect(server.statistics.droppedSenders == 0 && server.statistics.refusedConnections == 0)
    }
}
