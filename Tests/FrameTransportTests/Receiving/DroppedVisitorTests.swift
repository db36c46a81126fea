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
}
