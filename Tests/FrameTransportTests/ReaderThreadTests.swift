import FrameSocketTesting
import FrameTransport
import Locking
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

    /// Where a delegate and a tap were called.
    private final class Witness: FrameServer.Delegate, FrameServer.Tap {
        let (own, reader): (IOThread, IOThread)
        private let calls = Locked<[String]>([])

        init(_ own: IOThread, _ reader: IOThread) { (self.own, self.reader) = (own, reader) }

        var all: [String] { calls.withLock { $0 } }

        private func note(_ call: String) {
            let place = own.isCurrent ? "server" : reader.isCurrent ? "reader" : "elsewhere"
            calls.withLock { $0.append("\(call) \(place)") }
        }

        func connectionDidOpen(_ id: Int) { note("tap opens:") }
        func connection(_ id: Int, didRead bytes: Span<UInt8>) { note("tap reads:") }
        func connectionDidClose(_ id: Int) { note("tap closes:") }
        func connectionDidOpen(_ connection: FrameConnection) { note("opens:") }
        func connection(_ connection: FrameConnection, didReceive frame: Frame) { note("receives:") }
        func connection(_ connection: FrameConnection, didCloseFor reason: CloseReason) { note("closes:") }
    }

    @Test func `a delegate is called on the thread that reads, a tap for the ends of a connection on the server's`()
        async throws
    {
        let witness = Witness(IOThread(), IOThread())
        var configuration = FrameServer.Configuration()
        (configuration.thread, configuration.readers, configuration.tap) = (witness.own, [witness.reader], witness)
        let server = try FrameServer(at: directory.socket, configuration: configuration, delegate: witness)
        let sender = try PeerSocket.connected(to: directory.socket)
        try await sender.write(message(body(1, count: 300)))
        sender.finishWriting()
        #expect(await eventually { witness.all.contains("tap closes: server") })
        let calls: Set = [
            "tap opens: server", "tap reads: reader", "tap closes: server", "opens: reader", "receives: reader",
            "closes: reader",
        ]
        #expect(Set(witness.all) == calls)
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
        let isHeard = (0..<4).map { bodies.contains(body($0, count: 1000)) }
        #expect(isHeard == [true, true, true, true] && bodies.count == 4)
        try await server.closed()
        withExtendedLifetime(senders) {}
    }
}
