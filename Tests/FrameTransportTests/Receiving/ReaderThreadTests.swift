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
}
