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

    @Test func `eight senders at once each get all their frames through in order`() async throws {
        let server = try directory.server()
        let frameCount = 60
        let expected = (0..<frameCount).map { 2000 + $0 * 1500 }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for sender in 0..<8 {
                let connection = directory.connection()
                group.addTask {
                    try await connection.open(within: nil)
                    for index in 0..<frameCount {
                        try await connection.send(
                            FrameMessage(body(sender, count: expected[index]), sequence: UInt64(index))
                        )
                    }
                    connection.close()
                    #expect(try await connection.closed() == .closedLocally(.stoppedByUser))
                }
            }
            var taken = 0
            for try await connection in server.connections {
                group.addTask {
                    var lengths: [Int] = []
                    for try await frame in connection.frames {
                        #expect(frame.sequence == UInt64(lengths.count) && frame.index == lengths.count)
                        lengths.append(frame.header.contentLength)
                    }
                    #expect(lengths == expected.map { max($0, 10_240) })
                    #expect(connection.closeReason == .closedByPeer(.stoppedByUser))
                }
                taken += 1
                if taken == 8 { break }
            }
            try await group.waitForAll()
        }
    }

    @Test func `a consumer on the connection's thread receives the frames there, in order, and then the end`()
        async throws
    {
        let server = try directory.server()
        let bodies = Locked<[Int: [[UInt8]]]>([:])
        server.consumeOnThreads { connection, frame in
            #expect(connection.thread.isCurrent)
            bodies.withLock { $0[connection.id, default: []].append(frame.bytes) }
        }
        let first = try PeerSocket.connected(to: directory.socket)
        let second = try PeerSocket.connected(to: directory.socket)
        try await first.write((0..<40).flatMap { message(body($0, count: 300)) })
        first.close()
        try await second.write(message(body(1, count: 300)))
        #expect(await becomesTrue { bodies.withLock { $0[1]?.count == 40 && $0[2]?.count == 1 } })
        server.close()
        second.close()
        try await server.closed()
        #expect(bodies.withLock { $0 } == [1: (0..<40).map { body($0, count: 300) }, 2: [body(1, count: 300)]])
    }

    /// Shows P92.
    @Test func `the newest frame is delivered on request, and the others are counted`() async throws {
        let server = try directory.server { $0.delivery = .newest }
        let client = try PeerSocket.connected(to: directory.socket)
        let connection = try #require(try await firstConnection(of: server))
        let sent = (0..<100).map { body($0, count: 30_000) }
        try await client.write(sent.flatMap { message($0) })
        client.finishWriting()
        // Nobody consumes, and yet the server reads to the end.
        #expect(try await connection.closed() == .closedByPeer(.stoppedByUser))
        #expect(connection.statistics.supersededFrames == 99)
        var frames = connection.frames.makeAsyncIterator()
        let frame = try #require(try await frames.next())
        #expect(frame.index == 99 && frame.jpeg?.array() == sent[99])
        #expect(try await frames.next() == nil)
    }

    /// Shows P91, P98.
    @Test func `a consumer that does not consume holds up the sender, and nothing is lost`() async throws {
        let pool = FrameBytes.Pool(maximumIdleBytes: 16 << 20)
        let server = try directory.server { $0.pool = pool }
        let connection = directory.connection()
        try await connection.open(within: nil)
        let received = try #require(try await firstConnection(of: server))
        let sent = Counter()
        let sending = Task {
            for index in 0..<100 {
                try await connection.send(FrameMessage(body(index, count: 1_000_000)))
                sent.increment()
            }
            connection.close()
        }
        // The sender stops when the socket's buffer is full: what it sent stays the same over many of the thread's turns.
        var (last, repeats) = (-1, 0)
        while repeats < 50 {
            await server.settle()
            try await Task.sleep(for: .milliseconds(1))
            repeats = sent.value == last ? repeats + 1 : 0
            last = sent.value
        }
        #expect(sent.value < 20, "the system's buffers hold a few frames, and no more may be taken from it")
        // The first body grows from 64 KiB to 1 MiB in four steps; then one is read ahead, and one is being filled.
        let steps = 4
        #expect(pool.allocations <= steps + 2)
        var index = 0
        for try await frame in received.frames {
            #expect(frame.index == index)
            #expect(Data(frame.bytes) == Data(body(index, count: 1_000_000)))
            index += 1
        }
        #expect(index == 100)
        try await sending.value
        // A consumer that keeps up is read ahead for; it holds one frame itself.
        #expect(pool.allocations <= steps + 2 + FrameServer.Delivery.maximumReadAhead)
    }

    /// Shows P131.
    @Test func `closing a connection delivers what was received, and tells the sender`() async throws {
        let server = try directory.server()
        let client = try PeerSocket.connected(to: directory.socket)
        let connection = try #require(try await firstConnection(of: server))
        try await client.write(message(body(0, count: 100)) + message(body(1, count: 100)))
        await server.settle()
        connection.close()
        #expect(try await client.read(1).isEmpty)
        client.close()
        #expect(try await connection.closed() == .closedLocally(.stoppedByUser))
        var frames = connection.frames.makeAsyncIterator()
        #expect(try await frames.next()?.jpeg?.array() == body(0, count: 100))
        #expect(try await frames.next() == nil)
        connection.close()
    }

    @Test func `releasing a connection ends it, and the others and the server live on`() async throws {
        let server = try directory.server()
        let first = try PeerSocket.connected(to: directory.socket)
        weak var released: FrameConnection?
        do { released = try await firstConnection(of: server) }
        #expect(try await first.read(1).isEmpty)
        #expect(await becomesTrue { released == nil })
        let second = try PeerSocket.connected(to: directory.socket)
        #expect(try await firstConnection(of: server)?.id == 2)
        _ = second
    }

    /// Often, since several threads close it at once.
    ///
    /// Shows P132.
    @Test(
        .leftOut(of: .faults, because: "it takes for granted that whoever has connected is accepted in the next turn"),
        arguments: 0..<50
    )
    func `closing a server ends its connections in an orderly way, including those that nobody accepted`(round: Int)
        async throws
    {
        let server = try directory.server()
        let clients = try (0..<5).map { _ in try PeerSocket.connected(to: directory.socket) }
        let taken = try #require(try await firstConnection(of: server))
        await withTaskGroup { group in
            for _ in 0..<8 { group.addTask { server.close() } }
        }
        for client in clients {
            #expect(try await client.read(1).isEmpty)
            client.close()
        }
        try await server.closed()
        #expect(taken.closeReason == .closedLocally(.stoppedByUser))
        #expect(throws: (any Error).self) { try PeerSocket.connected(to: directory.socket) }
        // What has not been taken is still given out, and has ended.
        var rest = 0
        for try await connection in server.connections {
            #expect(connection.closeReason == .closedLocally(.stoppedByUser))
            rest += 1
        }
        #expect(rest == 4)
    }

    @Test func `a server closed before anything happens ends at once`() async throws {
        for _ in 0..<100 {
            let server = try directory.server()
            server.close()
            try await server.closed()
        }
        #expect(directory.names.isEmpty)
    }

    @Test func `an end of the wait for connections does not change the server`() async throws {
        let server = try directory.server()
        let waiting = Task { try await firstConnection(of: server) }
        await server.settle()
        waiting.cancel()
        #expect(try await waiting.value == nil)
        let client = try PeerSocket.connected(to: directory.socket)
        #expect(try await firstConnection(of: server)?.id == 1)
        _ = client
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

    @Test func `the sender's process and user are known`() async throws {
        let server = try directory.server()
        let client = try PeerSocket.connected(to: directory.socket)
        let peer = try #require(try await firstConnection(of: server)?.peer)
        #expect(peer.processID == getpid() && peer.userID == geteuid() && peer.groupID == getegid())
        _ = client
    }
}

extension FrameServer {
    /// Waits until the server has done what there was to do.
    func settle() async {
        await IOThread.shared.settle()
    }
}
