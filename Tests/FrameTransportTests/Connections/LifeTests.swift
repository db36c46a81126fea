import Foundation
import FrameSocketTesting
import FrameTransport
import FrameWire
import Synchronization
import TestDescriptions
import TestSupport
import Testing

/// What may happen to connections over their life, in every order.
@Suite(.timeLimit(.minutes(5))) struct LifeTests {
    let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    /// Shows P122.
    @Test(
        arguments: [true, false]
    )
    func `a reset within a frame is a broken connection, and between two an orderly end`(isWithinFrame: Bool)
        async throws
    {
        let (server, client, connection) = try await directory.openReception()
        // What this side says and the peer leaves unread makes the peer's close a reset.
        connection.send(.ping(1))
        await IOThread.shared.settle()
        try await client.write(
            message(body(1, count: 100)) + (isWithinFrame ? message(body(2, count: 100)).prefix(150) : [])
        )
        client.close()
        var frames = connection.frames.makeAsyncIterator()
        #expect(try await frames.next()?.jpeg?.array() == body(1, count: 100))
        if isWithinFrame {
            let error = await #expect(throws: TransportError.self) { try await frames.next() }
            #expect(error?.code == .connectionLost)
            #expect(try await connection.closed() == .failed(try #require(error)))
        } else {
            // A Unix-domain socket loses nothing by it, and the peer only left unread what it need not read.
            #expect(try await frames.next() == nil)
            #expect(try await connection.closed() == .closedByPeer(.stoppedByUser))
        }
        withExtendedLifetime(server) {}
    }

    /// Shows P120.
    @Test func `a closed object says so and does nothing`() async throws {
        let server = try directory.server()
        let connection = directory.connection()
        try await connection.open(within: nil)
        let received = try #require(try await firstConnection(of: server))
        connection.close()
        #expect(try await received.closed() == .closedByPeer(.stoppedByUser))
        _ = try await connection.closed()
        let sendError = await #expect(throws: TransportError.self) { try await connection.send(FrameMessage([1])) }
        #expect(sendError?.code == .closed)
        let openError = await #expect(throws: TransportError.self) { try await connection.open(within: nil) }
        #expect(openError?.code == .closed)
        received.send(.pause)
        received.close()
        #expect(try await received.nextBytes() == nil)
        server.close()
        try await server.closed()
        server.close()
        var connections = server.connections.makeAsyncIterator()
        #expect(try await connections.next() == nil)
    }

    @Test func `a consumer on the connection's thread may close everything`() async throws {
        for moment in 0..<3 {
            let directory = try TemporaryDirectory()
            let server = try directory.server()
            let client = try PeerSocket.connected(to: directory.socket)
            try? await client.write(message(body(1, count: 100)) + message(body(2, count: 100)))
            client.finishWriting()
            let connection = try #require(try await firstConnection(of: server))
            let consuming = Task(executorPreference: connection.thread) {
                func close(at now: Int) {
                    guard now == moment else { return }
                    connection.close()
                    server.close()
                    connection.close()
                }
                close(at: 0)
                for try await _ in connection.frames { close(at: 1) }
                close(at: 2)
            }
            try await consuming.value
            try await server.closed()
            #expect(directory.names == [])
        }
    }

    /// Deadlines that follow the wall clock pass, or never do, when somebody sets it.
    ///
    /// Shows P152.
    @Test func `nothing depends on the wall clock`() throws {
        let sources = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent(
            "../../../Sources"
        )
        let words = [
            "CLOCK_REALTIME", "gettimeofday", "wallDeadline", "DispatchWallTime", "SuspendingClock", "Date()",
            "time(nil)",
            // These follow the wall clock on Linux.
            ".wait(timeout", "pthread_cond_timedwait",
        ]
        // States when the last frame came, which monitoring wants in Unix time, and waits for nothing.
        let exempt = "ReceptionReadings.swift"
        var count = 0
        let files = try #require(FileManager.default.enumerator(at: sources, includingPropertiesForKeys: nil))
        for case let file as URL in files
        where ["swift", "c", "h"].contains(file.pathExtension) && file.lastPathComponent != exempt {
            let text = try String(contentsOf: file, encoding: .utf8)
            for word in words { #expect(!text.contains(word), "\(word) in \(file.lastPathComponent)") }
            count += 1
        }
        #expect(count > 100)
    }

    #if os(Linux)
        @Test(.tooSlow(for: .brief), .leftOut(of: .address, .thread, because: "the sanitizer uses memory of its own"))
        func `many bad connections leave nothing behind, and an innocent one gets its frames`() async {
            await #expect(processExitsWith: .success) {
                let directory = try TemporaryDirectory()
                let server = try directory.server()
                let (innocent, innocentConnection) = try await server.connectedPeer()
                var connections = server.connections.makeAsyncIterator()
                let bytes = Array("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n".utf8)
                var descriptors: [String: Int] = [:]
                var memory = 0
                for round in 0..<6000 {
                    let attacker = try PeerSocket.connected(to: directory.socket)
                    _ = unsafe bytes.withUnsafeBytes {
                        unsafe send(attacker.descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
                    }
                    let connection = try #require(try await connections.next())
                    #expect(try await connection.closed().error?.code == .malformedMessage)
                    attacker.close()
                    if round % 100 == 0 {
                        try await innocent.write(message(body(round, count: 5000)))
                        #expect(try await innocentConnection.nextBytes() == body(round, count: 5000))
                    }
                    if round == 500 { (descriptors, memory) = (openDescriptors(), try allocatedBytes()) }
                }
                await IOThread.shared.settle()
                #expect(openDescriptors() == descriptors)
                let growth = try allocatedBytes() - memory
                // Less than one object for each connection.
                #expect(growth < 5500 * 128, "\(growth) bytes more than after the first five hundred")
                withExtendedLifetime(server) {}
            }
        }
    #endif
}
