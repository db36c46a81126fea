import FrameSocketTesting
import FrameTransport
import Locking
import TestDescriptions
import TestSupport
import Testing

/// Connections that are read by other threads than the one that accepts them.
@Suite("Servers with several reader threads", .timeLimit(.minutes(5))) struct ReaderThreadTests {
    let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    /// Shows P116.
    @Test
    func `each connection is read by one of the threads, in order, and every thread has its share`() async throws {
        let readers = [IOThread(), IOThread()]
        let server = try directory.server { $0.readers = readers }
        typealias Reception = (thread: Int, bodies: [[UInt8]])
        let received = try await withThrowingTaskGroup(of: Reception.self) { group -> [Reception] in
            var senders: [PeerSocket] = []
            var connections = server.connections.makeAsyncIterator()
            for seed in 0..<4 {
                let sender = try PeerSocket.connected(to: directory.socket)
                senders.append(sender)
                let connection = try #require(try await connections.next())
                let thread = try #require(readers.firstIndex { $0 === connection.thread })
                group.addTask {
                    var bodies: [[UInt8]] = []
                    for try await frame in connection.frames { bodies.append(frame.bytes) }
                    return (thread, bodies)
                }
                group.addTask {
                    try await sender.write((0..<50).flatMap { message(body(100 * seed + $0, count: 3000)) })
                    sender.finishWriting()
                    return (thread, [])
                }
            }
            defer { withExtendedLifetime(senders) {} }
            return try await group.reduce(into: []) { if !$1.bodies.isEmpty { $0.append($1) } }
        }
        let expected = Set((0..<4).map { seed in (0..<50).map { body(100 * seed + $0, count: 3000) } })
        #expect(Set(received.map(\.bodies)) == expected)
        #expect(received.map(\.thread).sorted() == [0, 0, 1, 1])
        server.close()
        try await server.closed()
    }

    @Test func `what a thread reads is delivered on it`() async throws {
        let (own, reader) = (IOThread(), IOThread())
        let calls = Locked<[String]>([])
        let note = { @Sendable (call: String) in
            let place = own.isCurrent ? "server" : reader.isCurrent ? "reader" : "elsewhere"
            calls.withLock { $0.append("\(call) \(place)") }
        }
        let server = try directory.server {
            ($0.thread, $0.readers) = (own, [reader])
            $0.onRead = { _, _ in note("reads:") }
        }
        let consuming = server.consumeOnThreads { _, _ in note("receives:") }
        let sender = try PeerSocket.connected(to: directory.socket)
        try await sender.write(message(body(1, count: 300)))
        sender.finishWriting()
        #expect(await becomesTrue { server.statistics.acceptedConnections == 1 && server.statistics.connections == 0 })
        server.close()
        try await server.closed()
        try await consuming.value
        #expect(Set(calls.withLock { $0 }) == ["reads: reader", "receives: reader"])
    }

    /// Shows P166.
    @Test(.leftOut(of: .faults, because: "a thread has to hear of two sockets at once"))
    func `a place that was given to another sender is not taken by a token that comes at the same time`()
        async throws
    {
        let (gate, own, reader) = (Gate(), IOThread(), IOThread())
        let token = Array("token".utf8)
        let server = try directory.server {
            ($0.thread, $0.readers) = (own, [reader])
            // Keeps the thread in whatever it reads behind a token.
            $0.onRead = { _, _ in gate.hold() }
            $0.tokens = HandshakeTokens(shared: token)
            $0.limits.maximumConnections = 2
        }
        let presented = Locked<[FrameConnection]>([])
        Task { for try await connection in server.connections { presented.withLock { $0.append(connection) } } }
        let first = try PeerSocket.connected(to: directory.socket)
        try await first.write(token)
        #expect(try await first.read(token.count) == token)
        let second = try PeerSocket.connected(to: directory.socket)
        #expect(await becomesTrue { server.statistics.connections == 2 })
        await reader.settle()
        // The thread hears of both at once, and cannot go on to the second.
        try await reader.whileHeld {
            try await first.write(message(body(1, count: 300)))
            try await second.write(token)
        }
        await gate.held()
        // Its token has come, but its thread does not know, and its place goes to the next sender.
        let third = try PeerSocket.connected(to: directory.socket)
        try await third.write(token)
        #expect(await becomesTrue { server.statistics.acceptedConnections == 3 })
        await own.settle()
        gate.release()
        #expect(try await third.read(token.count) == token)
        #expect((try? await second.read(1)) ?? [] == [])
        // The program and the counters are told one after the other, in no order that is promised.
        #expect(await becomesTrue { server.statistics.connections == 2 })
        #expect(await becomesTrue { presented.withLock { $0.map(\.id) } == [1, 3] })
        #expect(await becomesTrue { server.statistics.refusedConnections == 1 })
        server.close()
        try await server.closed()
    }

    /// Shows P129.
    @Test(
        .leftOut(of: .faults, because: "its server believes the kernel that nobody is waiting"),
        arguments: [false, true]
    )
    func `a sender that was accepted just before the end is heard, although its thread is busy`(isPending: Bool)
        async throws
    {
        let readers = [IOThread(), IOThread()]
        let server = try directory.server { $0.readers = readers }
        // Both threads are busy while the connection is accepted and the server ends.
        let senders = try await readers[0].whileHeld {
            try await readers[1].whileHeld {
                var senders: [PeerSocket] = []
                for seed in 0..<4 {
                    let sender = try PeerSocket.connected(to: directory.socket)
                    try await sender.write(message(body(seed, count: 1000)))
                    sender.finishWriting()
                    senders.append(sender)
                }
                if !isPending { await Task(executorPreference: IOThread.shared) {}.value }
                server.drain()
                // The end is carried out.
                for _ in 0..<3 { await Task(executorPreference: IOThread.shared) {}.value }
                return senders
            }
        }
        var bodies: Set<[UInt8]> = []
        for try await connection in server.connections {
            for try await frame in connection.frames { bodies.insert(frame.bytes) }
        }
        let isHeard = (0..<4).map { bodies.contains(body($0, count: 1000)) }
        #expect(isHeard == [true, true, true, true] && bodies.count == 4)
        try await server.closed()
        withExtendedLifetime(senders) {}
    }
}
