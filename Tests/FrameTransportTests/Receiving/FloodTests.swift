import Foundation
import FrameSocketTesting
import FrameTransport
import Locking
import TestSupport
import Testing

/// A peer that never stops must not keep the I/O thread from the others.
@Suite(.timeLimit(.minutes(5))) struct FloodTests {
    let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    /// Runs `body` while several threads call `work` again and again.
    private func during(_ work: @escaping @Sendable () -> Void, _ body: () async throws -> Void) async throws {
        let isOver = Flag()
        await withTaskGroup { group in
            for _ in 0..<4 {
                let start = Gate()
                Thread.detachNewThread {
                    start.hold()
                    while !isOver.isSet { work() }
                }
                group.addTask {
                    await start.held()
                    start.release()
                }
            }
        }
        defer { isOver.set() }
        try await body()
    }

    /// Sends frames to the server and receives them.
    private func expectService(by server: FrameServer) async throws {
        let client = try PeerSocket.connected(to: server.path)
        for try await connection in server.connections where connection.closeReason == nil {
            var frames = connection.frames.makeAsyncIterator()
            for round in 0..<20 {
                try await client.write(message(body(round, count: 20_000)))
                #expect(try await frames.next()?.jpeg?.array() == body(round, count: 20_000))
            }
            return
        }
    }

    @Test func `a server that never stops talking does not delay others`() async throws {
        let talker = try PeerSocket.listening(at: directory.socket)
        let connection = directory.connection()
        try await connection.open(within: nil)
        let peer = try await talker.accepted()
        let elsewhere = try TemporaryDirectory()
        let server = try elsewhere.server()
        let bytes = body(1, count: 16)
        try await during {
            _ = unsafe bytes.withUnsafeBytes {
                unsafe send(peer.descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
        } _: {
            try await expectService(by: server)
        }
        #expect(connection.isOpen)
    }

    @Test func `endless frames do not delay others`() async throws {
        let server = try directory.server { $0.delivery = .newest }
        let flooder = try PeerSocket.connected(to: directory.socket)
        let first = try #require(try await firstConnection(of: server))
        let frame = message([1])
        let turn = Locked(())
        try await during {
            turn.withLock { _ in
                _ = unsafe frame.withUnsafeBytes {
                    unsafe send(flooder.descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
                }
            }
        } _: {
            try await expectService(by: server)
        }
        #expect(first.closeReason == nil)
    }

    /// Shows P151.
    @Test func `a consumer that never leaves the connections' thread does not delay others`() async throws {
        let server = try directory.server()
        let flooder = try PeerSocket.connected(to: directory.socket)
        let first = try #require(try await firstConnection(of: server))
        let consumer = Task(executorPreference: first.thread) {
            for try await _ in first.frames {}
        }
        let frames = (0..<100).flatMap { _ in message([1]) }
        let turn = Locked(())
        try await during {
            turn.withLock { _ in
                var sent = 0
                while sent < frames.count {
                    let count = unsafe frames[sent...].withUnsafeBytes {
                        unsafe send(flooder.descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
                    }
                    guard count > 0 else { return }
                    sent += count
                }
            }
        } _: {
            try await expectService(by: server)
            first.close()
            try await consumer.value
        }
    }
}
