import FrameSocketTesting
import FrameWire
import Locking
import TestSupport
import Testing

@testable import FrameTransport

/// What servers and connections tell a program's log, and what they count.
@Suite(.timeLimit(.minutes(5))) struct EventLogTests {
    private let directory: TemporaryDirectory
    private let events = Events()

    init() throws {
        directory = try TemporaryDirectory()
    }

    /// The events so far, from any thread.
    private final class Events: Sendable {
        private let all = Locked([TransportEvent]())

        var sink: @Sendable (TransportEvent) -> Void {
            { [all] event in all.withLock { $0.append(event) } }
        }

        func of(_ code: TransportEvent.Code) -> [TransportEvent] {
            all.withLock { $0.filter { $0.code == code } }
        }

        /// Waits for an event.
        func first(_ code: TransportEvent.Code) async throws -> TransportEvent {
            #expect(await becomesTrue { !self.of(code).isEmpty }, "\(code) is not told")
            return try #require(of(code).first)
        }
    }

    // MARK: A server

    @Test func `a connection is reported and counted from its beginning to its end`() async throws {
        let (server, client, connection) = try await directory.openReception { $0.log = events.sink }
        let opened = try await events.first(.connectionOpened)
        #expect(opened.level == .debug && opened.connection == 1 && opened.peer == connection.peer)
        #expect(
            opened.endpoint == directory.socket && opened.description.contains("connection 1: a sender is connected")
        )
        try await client.write(message(body(1, count: 12_000)) + message(body(2, count: 13_000)))
        var frames = connection.frames.makeAsyncIterator()
        // Nobody has taken the frame that was read ahead.
        _ = try await frames.next()
        #expect(await becomesTrue { server.statistics.memoryInFlight > 0 })
        _ = try await frames.next()
        let statistics = server.statistics
        #expect(statistics.connections == 1 && statistics.acceptedConnections == 1)
        #expect(statistics.frames == 2 && statistics.bytes == 25_000)
        #expect(connection.statistics.frames == 2 && connection.statistics.bytes == 25_000)
        client.close()
        #expect(try await frames.next() == nil)
        let ended = try await events.first(.connectionEnded)
        #expect(ended.level == .debug && ended.connection == 1 && ended.error == nil)
        #expect(await becomesTrue { server.statistics.connections == 0 })
        #expect(server.statistics.memoryInFlight == 0 && server.statistics.acceptedConnections == 1)
        #expect(events.of(.connectionFailed).isEmpty)
    }

    @Test func `an invalid message is reported with its error`() async throws {
        let server = try directory.server { $0.log = events.sink }
        let client = try PeerSocket.connected(to: directory.socket)
        try await client.write(Array("GET / HTTP/1.1\r\n\r\n".utf8))
        let failed = try await events.first(.connectionFailed)
        #expect(failed.level == .warning && failed.error?.code == .malformedMessage)
        #expect(failed.message.isEmpty == false && failed.message.hasSuffix(".") == false)
        _ = server
    }

    /// Shows P154.
    @Test func `a sender without a slot is reported and counted, and the others live on`() async throws {
        let (server, first, connection) = try await directory.openReception {
            $0.limits.maximumConnections = 1
            $0.log = events.sink
        }
        let second = try PeerSocket.connected(to: directory.socket)
        #expect(try await second.read(1).isEmpty)
        let refused = try await events.first(.refusedForPlace)
        #expect(refused.level == .warning && refused.connection == nil && refused.peer != nil)
        #expect(server.statistics.refusals == [.place: 1] && server.statistics.refusedConnections == 1)
        try await first.write(message(body(1, count: 500)))
        #expect(try await connection.nextBytes() == body(1, count: 500))
    }

    @Test func `a sender of another user is reported and counted`() async throws {
        let server = try directory.server {
            $0.peers = .users([])
            $0.log = events.sink
        }
        let client = try PeerSocket.connected(to: directory.socket)
        #expect(try await client.read(1).isEmpty)
        let refused = try await events.first(.refusedForUser)
        #expect(refused.error?.code == .peerRefused && refused.message.contains("belongs to user"))
        #expect(server.statistics.refusals == [.user: 1])
    }

    enum Handshake: CaseIterable { case wrong, none, gone }

    @Test(arguments: Handshake.allCases)
    func `a sender without the right token is reported and counted`(handshake: Handshake) async throws {
        let server = try directory.server {
            $0.tokens = HandshakeTokens(shared: Array("secret".utf8))
            if handshake == .none { $0.limits.handshakeTimeout = .milliseconds(1) }
            $0.log = events.sink
        }
        let client = try PeerSocket.connected(to: directory.socket)
        switch handshake {
        case .wrong: try await client.write(Array("wrong!".utf8))
        case .none: break
        case .gone: client.close()
        }
        let refused = try await events.first(.refusedForToken)
        #expect(refused.level == .warning && refused.connection == 1)
        #expect(await becomesTrue { server.statistics.refusals == [.token: 1] })
        #expect(events.of(.connectionOpened).isEmpty)
    }

    @Test func `frames that cannot be decoded are reported and counted, each once`() async throws {
        let (server, client, connection) = try await directory.openReception { $0.log = events.sink }
        try await client.write(message(body(1, count: 3000)))
        var frames = connection.frames.makeAsyncIterator()
        let frame = try #require(try await frames.next())
        for _ in 0..<3 { frame.reportUndecodable() }
        let dropped = try await events.first(.frameDropped)
        #expect(dropped.connection == 1 && dropped.message == "frame 0 could not be decoded")
        #expect(server.statistics.undecodableFrames == 1 && events.of(.frameDropped).count == 1)
    }

    // MARK: Floods

    /// Shows P198.
    @Test func `the next event after a period says how many were omitted, for each code alone`() throws {
        let log = try #require(EventLog(events.sink, endpoint: "/a"))
        func report(_ code: TransportEvent.Code, at seconds: UInt64) {
            log.report(.warning, code, "as told", at: seconds * 1_000_000_000)
        }
        for _ in 0..<25 { report(.refusedForPlace, at: 1) }
        report(.refusedForUser, at: 2)
        report(.refusedForPlace, at: 10)
        #expect(events.of(.refusedForPlace).map(\.omitted) == Array(repeating: 0, count: 10))
        report(.refusedForPlace, at: 11)
        report(.refusedForPlace, at: 11)
        #expect(events.of(.refusedForPlace).map(\.omitted) == Array(repeating: 0, count: 10) + [16, 0])
        #expect(
            events.of(.refusedForPlace).dropFirst(10).first?.description == "/a: as told [refused.place], and 16 more"
        )
        #expect(events.of(.refusedForUser).map(\.omitted) == [0])
    }

    @Test func `a log may use the server that calls it`() async throws {
        let holder = Locked<FrameServer?>(nil)
        let seen = Locked<[FrameServer.Statistics]>([])
        let server = try directory.server {
            $0.limits.maximumConnections = 0
            $0.log = { event in
                guard event.code == .refusedForPlace, let server = holder.withLock({ $0 }) else { return }
                let statistics = server.statistics
                seen.withLock { $0.append(statistics) }
                server.close()
            }
        }
        holder.withLock { $0 = server }
        let client = try PeerSocket.connected(to: directory.socket)
        #expect(try await client.read(1).isEmpty)
        try await server.closed()
        #expect(seen.withLock { $0.first?.refusals } == [.place: 1])
        holder.withLock { $0 = nil }
    }

    // MARK: A sender

    @Test func `a sender's log tells of attempts, connections and their ends`() async throws {
        let connection = directory.connection { $0.log = events.sink }
        connection.open()
        let failed = try await events.first(.attemptFailed)
        #expect(failed.level == .info && failed.message.hasPrefix("no server was reached: "))
        // Every further attempt fails for the same reason.
        await IOThread.shared.settle()
        #expect(events.of(.attemptFailed).count == 1)
        let listener = try PeerSocket.listening(at: directory.socket)
        _ = try await listener.accepted()
        #expect(try await events.first(.connectionOpened).level == .info)
        // Its peer has gone by now.
        let ended = try await events.first(.connectionEnded)
        #expect(ended.message == "the other side ended the connection")
        // Nobody would end the connection that is made again and waits to be accepted.
        listener.close()
        connection.close()
        _ = try await connection.closed()
        #expect(await becomesTrue { events.of(.connectionEnded).contains { $0.message.hasPrefix("this side") } })
    }
}
