import Foundation
import FrameSocketTesting
import FrameTransport
import FrameWire
import Locking
import TestDescriptions
import TestSupport
import Testing

/// How a server shares itself among senders, delivers, and ends.
@Suite(.timeLimit(.minutes(5))) struct ServerTests {
    let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    /// Shows P116.
    @Test(arguments: [0, 2])
    func `a consumer on the connection's thread receives its frames there, in order, and every thread has its share`(
        readers: Int
    ) async throws {
        let threads = (0..<readers).map { _ in IOThread() }
        let server = try directory.server { $0.readers = threads }
        let received = Locked<[Int: [Int: [[UInt8]]]]>([:])
        server.consumeOnThreads { connection, frame in
            #expect(connection.thread.isCurrent)
            let thread = threads.firstIndex { $0 === connection.thread } ?? -1
            received.withLock { $0[thread, default: [:]][connection.id, default: []].append(frame.bytes) }
        }
        let senders = try (0..<4).map { _ in try PeerSocket.connected(to: directory.socket) }
        let bodies = (0..<4).map { seed in (0..<40).map { body(100 * seed + $0, count: 3000) } }
        for (sender, bodies) in zip(senders, bodies) {
            try await sender.write(bodies.flatMap { message($0) })
            sender.close()
        }
        let frameCount = { received.withLock { $0.values.reduce(0) { $0 + $1.values.reduce(0) { $0 + $1.count } } } }
        #expect(await becomesTrue { frameCount() == 160 })
        server.close()
        try await server.closed()
        let all = received.withLock { $0.values.reduce(into: [:]) { $0.merge($1) { $0 + $1 } } }
        #expect(all == Dictionary(uniqueKeysWithValues: zip(1..., bodies)))
        #expect(received.withLock { $0.mapValues(\.count) } == (readers == 0 ? [-1: 4] : [0: 2, 1: 2]))
    }

    /// Shows P90.
    @Test func `a sender that has left before it is accepted leaves its frame, and the next one is accepted after it`()
        async throws
    {
        let server = try directory.server()
        try await IOThread.shared.whileHeld {
            let visitor = try PeerSocket.connected(to: directory.socket)
            try await visitor.write(message(body(1, count: 500)))
            visitor.close()
        }
        let left = try #require(try await firstConnection(of: server))
        #expect(left.peer?.userID == geteuid())
        #expect(try await left.nextBytes() == body(1, count: 500))
        let (client, connection) = try await server.connectedPeer()
        try await client.write(message(body(2, count: 500)))
        #expect(try await connection.nextBytes() == body(2, count: 500))
        #expect(server.statistics.refusedConnections == 0)
    }

    /// Shows P92.
    @Test func `the newest frame is delivered on request, and the others are counted`() async throws {
        let (server, client, connection) = try await directory.openReception { $0.delivery = .newest }
        let sent = (0..<100).map { body($0, count: 30_000) }
        try await client.write(sent.flatMap { message($0) })
        client.finishWriting()
        // Nobody consumes, and yet the server reads to the end.
        #expect(try await connection.closed() == .closedByPeer(.stoppedByUser))
        #expect(connection.statistics.supersededFrames == 99)
        // Counted after its connection too.
        #expect(await becomesTrue { server.statistics.connections == 0 })
        #expect(server.statistics.supersededFrames == 99 && server.statistics.frames == 0)
        var frames = connection.frames.makeAsyncIterator()
        let frame = try #require(try await frames.next())
        #expect(frame.index == 99 && frame.jpeg?.array() == sent[99])
        #expect(try await frames.next() == nil)
    }

    /// Shows P131.
    @Test func `closing a connection delivers what was received, and tells the sender`() async throws {
        let (server, client, connection) = try await directory.openReception()
        try await client.write(message(body(0, count: 100)) + message(body(1, count: 100)))
        await server.settle()
        connection.close()
        #expect(try await client.read(1).isEmpty)
        client.close()
        #expect(try await connection.closed() == .closedLocally(.stoppedByUser))
        #expect(try await connection.nextBytes() == body(0, count: 100))
        #expect(try await connection.nextBytes() == nil)
        connection.close()
    }

    /// Shows P107.
    @Test func `frames outlive their connection and their server`() async throws {
        let pool = FrameBytes.Pool(maximumIdleBytes: 16 << 20)
        var server: FrameServer? = try directory.server { $0.pool = pool }
        let client = try PeerSocket.connected(to: directory.socket)
        var connection = try await firstConnection(of: try #require(server))
        async let sending: Void = {
            try await client.write((0..<8).flatMap { message(body($0, count: 200_000)) })
            client.finishWriting()
        }()
        var frames: [Frame] = []
        for try await frame in try #require(connection).frames { frames.append(frame) }
        try await sending
        connection = nil
        server = nil
        #expect(await becomesTrue { directory.names.isEmpty })
        // Other frames of the same sizes would take their memory, were it free.
        let others = (0..<8).map { FrameBytes(copying: body(100 + $0, count: 200_000).span, pool: pool) }
        for (index, frame) in frames.enumerated() {
            #expect(Data(frame.bytes) == Data(body(index, count: 200_000)))
        }
        _ = others
    }
}

extension FrameServer {
    /// Waits until the server has done what there was to do.
    func settle() async {
        await IOThread.shared.settle()
    }
}
