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

    /// Shows P189.
    @Test(.leftOut(of: .faults, because: "it relies on the order in which visitors are accepted"))
    func `visitors give way to others, whose frames take their room or whose connections their places, and count once`()
        async throws
    {
        // 256 KiB for what departed senders leave, and for large frames.
        let server = try directory.server {
            $0.memory = FrameServer.MemoryBudget(maximumBytes: 512 << 10)
            $0.limits.maximumConnections = 2
        }
        for number in 0..<5 { try await visit(number, size: 200 << 10) }
        #expect(await becomesTrue { server.statistics.connections == 0 })
        await server.settle()
        #expect(server.statistics.droppedSenders == 4)
        var connections = server.connections.makeAsyncIterator()
        for number in 3..<5 {
            let connection = try #require(try await connections.next())
            #expect(connection.id == number + 1)
            #expect(try await connection.closed() == .closedByPeer(.stoppedByUser))
            do throws(TransportError) {
                #expect(try await connection.nextBytes() == body(4, count: 200 << 10))
                #expect(try await connection.nextBytes() == nil && number == 4)
            } catch {
                #expect(error.code == .departedSenderDropped && number == 3)
            }
        }
        #expect(server.statistics.droppedSenders == 4 && server.statistics.discardedFrames == 4)
    }
}
