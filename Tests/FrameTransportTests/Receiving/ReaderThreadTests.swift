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

    /// Where a tap was called, and where a consumer ran that prefers the connection's thread.
    private final class Witness: FrameServer.Tap {
        let (own, reader): (IOThread, IOThread)
        private let calls = Locked<[String]>([])

        init(_ own: IOThread, _ reader: IOThread) { (self.own, self.reader) = (own, reader) }

        var all: [String] { calls.withLock { $0 } }

        func note(_ call: String) {
            let place = own.isCurrent ? "server" : reader.isCurrent ? "reader" : "elsewhere"
            calls.withLock { $0.append("\(call) \(place)") }
        }

        func connectionDidOpen(_ id: Int) { note("tap opens:") }
        func connection(_ id: Int, didRead bytes: Span<UInt8>) { note("tap reads:") }
        func connectionDidClose(_ id: Int) { note("tap closes:") }
    }

    /// Shows P300.
    @Test func `a tap is called on the thread that reads, and for the ends of a connection on the server's`()
        async throws
    {
        let witness = Witness(IOThread(), IOThread())
        let server = try directory.server {
            ($0.thread, $0.readers, $0.tap) = (witness.own, [witness.reader], witness)
        }
        let consuming = server.consumeOnThreads { _, _ in witness.note("receives:") }
        let sender = try PeerSocket.connected(to: directory.socket)
        try await sender.write(message(body(1, count: 300)))
        sender.finishWriting()
        #expect(await becomesTrue { witness.all.contains("tap closes: server") })
        server.close()
        try await server.closed()
        try await consuming.value
        let calls: Set = ["tap opens: server", "tap reads: reader", "receives: reader", "tap closes: server"]
        #expect(Set(witness.all) == calls)
    }

    /// Keeps its thread in whatever it reads behind a token.
    private final class Holder: FrameServer.Tap {
        let gate = Gate()
        private let open = Locked<[Int]>([])

        /// The connections that have a place, or had one and have not ended.
        var connected: [Int] { open.withLock { $0 } }

        func connectionDidOpen(_ id: Int) { open.withLock { $0.append(id) } }
        func connection(_ id: Int, didRead bytes: Span<UInt8>) { gate.hold() }
        func connectionDidClose(_ id: Int) { open.withLock { $0.removeAll { $0 == id } } }
    }

    /// Shows P166.
    @Test(.leftOut(of: .faults, because: "a thread has to hear of two sockets at once"))
    func `a place that was given to another sender is not taken by a token that comes at the same time`()
        async throws
    {
        let (holder, own, reader) = (Holder(), IOThread(), IOThread())
        let token = Array("token".utf8)
        let server = try directory.server {
            ($0.thread, $0.readers, $0.tap) = (own, [reader], holder)
            $0.tokens = HandshakeTokens(shared: token)
            $0.limits.maximumConnections = 2
        }
        let presented = Locked<[FrameConnection]>([])
        Task { for try await connection in server.connections { presented.withLock { $0.append(connection) } } }
        let first = try PeerSocket.connected(to: directory.socket)
        try await first.write(token)
        #expect(try await first.read(token.count) == token)
        let second = try PeerSocket.connected(to: directory.socket)
        #expect(await becomesTrue { holder.connected == [1, 2] })
        await reader.settle()
        // The thread hears of both at once, and cannot go on to the second.
        try await reader.whileHeld {
            try await first.write(message(body(1, count: 300)))
            try await second.write(token)
        }
        await holder.gate.held()
        // Its token has come, but its thread does not know, and its place goes to the next sender.
        let third = try PeerSocket.connected(to: directory.socket)
        try await third.write(token)
        #expect(await becomesTrue { holder.connected == [1, 2, 3] })
        await own.settle()
        holder.gate.release()
        #expect(try await third.read(token.count) == token)
        #expect((try? await second.read(1)) ?? [] == [])
        // The tap, the program and the counter are told one after the other, in no order that is promised.
        #expect(await becomesTrue { holder.connected == [1, 3] })
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
