import FrameSocketTesting
import FrameTransport
import TestSupport
import Testing

/// Connections that are read by other threads than the one that accepts them.
@Suite("Servers with several reader threads", .timeLimit(.minutes(5))) struct ReaderThreadTests {
    let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

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
                    for try await frame in connection.frames { bodies.append(frame.jpeg.array()) }
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

    @Test(arguments: [false, true])
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
            for try await frame in connection.frames { bodies.insert(frame.jpeg.array()) }
        }
        #expect(bodies == Set((0..<4).map { body($0, count: 1000) }))
        try await server.closed()
        withExtendedLifetime(senders) {}
    }
}
