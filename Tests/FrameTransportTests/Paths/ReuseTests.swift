import FrameSocketTesting
import FrameTransport
import FrameWire
import TestSupport
import Testing

/// When a server has been closed, its path or port can be listened on again at once.
@Suite(.timeLimit(.minutes(5))) struct ReuseTests {
    private let tokens = HandshakeTokens(shared: [1, 2, 3])

    private func server(at port: UInt16) throws -> FrameServer {
        var configuration = FrameServer.Configuration()
        configuration.tokens = tokens
        configuration.limits.linger = .seconds(600)
        return try FrameServer(at: .loopback(port: port), configuration: configuration)
    }

    private func port(of server: FrameServer) throws -> UInt16 {
        guard case .loopback(let port) = server.endpoint else {
            Issue.record("the server is not at a port")
            return 0
        }
        return port
    }

    /// Opens a connection to a server at a port, and sends a frame over it.
    private func visit(_ server: FrameServer) async throws -> (SocketConnection, FrameConnection) {
        var configuration = SocketConnection.Configuration()
        configuration.tokens = tokens
        configuration.reopens = false
        configuration.linger = .seconds(600)
        let sender = SocketConnection(to: server.endpoint, configuration: configuration)
        try await sender.open(within: nil)
        let receiver = try #require(try await firstConnection(of: server))
        try await sender.send(FrameMessage(body(1, count: 20_000)))
        var frames = receiver.frames.makeAsyncIterator()
        #expect(try await frames.next() != nil)
        return (sender, receiver)
    }

    /// Shows P240.
    @Test(arguments: [false, true])
    func `a server can start at a path that another has just released`(hasSenders: Bool) async throws {
        let directory = try TemporaryDirectory()
        for round in 0..<50 {
            var senders: [PeerSocket] = []
            let server = try directory.server()
            if hasSenders { senders = try (0..<3).map { _ in try PeerSocket.connected(to: directory.socket) } }
            server.close()
            do {
                let next = try directory.server()
                let sender = try PeerSocket.connected(to: directory.socket)
                try await sender.write(message(body(round, count: 300)))
                #expect(try await firstConnection(of: next)?.nextBytes() == body(round, count: 300))
                next.close()
            } catch {
                Issue.record("round \(round): \(error)")
                return
            }
            withExtendedLifetime(senders) {}
        }
        #expect(directory.names.isEmpty)
    }

    /// Shows P240.
    @Test(arguments: [false, true])
    func `a server can start at a port that another has just released, whoever ended the connections`(hasEnded: Bool)
        async throws
    {
        let first = try server(at: 0)
        let port = try port(of: first)
        let (sender, receiver) = try await visit(first)
        if hasEnded {
            // This side's end comes first, so that the system keeps the port's connection for a minute.
            receiver.close()
            #expect(try await soon { try await sender.closed() } == .closedByPeer(.stoppedByUser))
        }
        first.close()
        if hasEnded { #expect(try await soon { try await first.closed() } != nil) }
        let second = try server(at: port)
        let (next, _) = try await visit(second)
        next.close()
        second.close()
        withExtendedLifetime((sender, receiver)) {}
    }

    @Test func `a second server at one port is still refused`() async throws {
        let first = try server(at: 0)
        let port = try port(of: first)
        let error = #expect(throws: TransportError.self) { try server(at: port) }
        #expect(error?.code == .addressInUse)
        #expect(error?.remedy?.contains("choose another port") == true && error?.message.contains("path") == false)
        first.close()
    }
}
