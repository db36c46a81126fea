import FrameSocketTesting
import FrameWire
import Locking
import TestSupport
import Testing

@testable import FrameTransport

/// Running a server: a task for each connection.
@Suite(.timeLimit(.minutes(5))) struct RunningTests {
    private struct Oops: Error {}

    /// What handlers and the log have told.
    private struct Told {
        var frames: [Int: [[UInt8]]] = [:]
        var handled = 0
        /// Why connections had ended, when their frames did.
        var reasons: [CloseReason?] = []
        var events: [TransportEvent] = []
    }

    private let directory: TemporaryDirectory
    private let told = Locked(Told())

    init() throws {
        directory = try TemporaryDirectory()
    }

    private func makeServer() throws -> FrameServer {
        try directory.server { [told] configuration in
            configuration.log = { event in told.withLock { $0.events.append(event) } }
        }
    }

    /// Takes the frames of a connection; one of a single byte 1 is an error.
    private func handle(_ connection: FrameConnection) async throws {
        for try await frame in connection.frames {
            let bytes = frame.bytes
            told.withLock { $0.frames[connection.id, default: []].append(bytes) }
            if bytes == [1] { throw Oops() }
        }
        let reason = connection.closeReason
        told.withLock { ($0.handled, $0.reasons) = ($0.handled + 1, $0.reasons + [reason]) }
    }

    @Test func `the reason for a connection's end is known when its frames end`() async throws {
        for round in 1...20 {
            let server = try makeServer()
            let running = Task { try await server.run { try await handle($0) } }
            let sender = try PeerSocket.connected(to: directory.socket)
            #expect(await becomesTrue { server.statistics.connections == 1 })
            server.close()
            // They end before the sender has closed too.
            #expect(await becomesTrue { told.withLock { $0.handled } == round })
            sender.close()
            try await running.value
        }
        #expect(told.withLock { $0.reasons.allSatisfy { $0 == .closedLocally(.stoppedByUser) } })
    }

    /// Shows P306.
    @Test func `an error of one handler is reported, closes its connection, and ends no other`() async throws {
        let server = try makeServer()
        let running = Task { try await server.run { try await handle($0) } }
        let other = try PeerSocket.connected(to: directory.socket)
        try await other.write(message([2]))
        #expect(await becomesTrue { told.withLock { $0.frames.count } == 1 })
        let failing = try PeerSocket.connected(to: directory.socket)
        try await failing.write(message([1]))
        #expect(try await failing.read(1).isEmpty)
        // What has ended the frames is reported by the end of the connection alone.
        let broken = try PeerSocket.connected(to: directory.socket)
        try await broken.write(Array("nonsense".utf8))
        #expect(try await broken.read(1).isEmpty)
        try await other.write(message([3]))
        other.finishWriting()
        #expect(await becomesTrue { told.withLock { $0.handled } == 1 })
        #expect(await becomesTrue { told.withLock { $0.events.filter { $0.code == .connectionFailed }.count } == 1 })
        server.close()
        try await running.value
        told.withLock {
            #expect($0.frames == [1: [[2], [3]], 2: [[1]]])
            let failures = $0.events.filter { $0.code == .handlerFailed }
            #expect(failures.map(\.connection) == [2])
            #expect(failures.first?.message.contains("Oops") == true)
        }
    }

    /// Shows P306.
    @Test func `a handler that returns closes its connection, even one that the program keeps`() async throws {
        let server = try makeServer()
        let kept = Locked<[FrameConnection]>([])
        let running = Task { try await server.run { connection in kept.withLock { $0.append(connection) } } }
        for _ in 0..<3 {
            let sender = try PeerSocket.connected(to: directory.socket)
            #expect(try await soon { try await sender.read(1).isEmpty } == true)
        }
        #expect(kept.withLock { $0.count } == 3)
        server.close()
        try await running.value
    }

    @Test func `a drain ends the run once every frame is handled, and the path is free`() async throws {
        let server = try makeServer()
        let running = Task { try await server.run { try await handle($0) } }
        let sender = try PeerSocket.connected(to: directory.socket)
        try await sender.write((2..<6).flatMap { message([$0]) })
        #expect(await becomesTrue { !told.withLock { $0.frames.isEmpty } })
        server.drain()
        try await running.value
        #expect(told.withLock { $0.frames } == [1: [[2], [3], [4], [5]]])
        #expect(told.withLock { $0.handled } == 1)
        try directory.server().close()
    }

    /// Shows P306.
    @Test func `cancelling ends every handler and closes the server`() async throws {
        let server = try makeServer()
        let running = Task { try await server.run { try await handle($0) } }
        let senders = try (0..<3).map { _ in try PeerSocket.connected(to: directory.socket) }
        for sender in senders { try await sender.write(message([2])) }
        #expect(await becomesTrue { told.withLock { $0.frames.count } == 3 })
        running.cancel()
        let error = await #expect(throws: TransportError.self) { try await running.value }
        #expect(error?.code == .cancelled)
        #expect(told.withLock { $0.handled } == 3)
        for sender in senders { #expect(try await sender.read(1).isEmpty) }
        try await server.closed()
    }
}
