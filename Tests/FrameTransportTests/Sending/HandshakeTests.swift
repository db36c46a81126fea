import FrameSocketTesting
import FrameTransport
import FrameWire
import TestDescriptions
import TestSupport
import Testing

/// Tokens, both ways, before any frame.
@Suite struct HandshakeTests {
    let directory: TemporaryDirectory
    let tokens = HandshakeTokens(own: Array("the sender's".utf8), expected: Array("the host's".utf8))

    init() throws {
        directory = try TemporaryDirectory()
    }

    private var hostTokens: HandshakeTokens { HandshakeTokens(own: tokens.expected, expected: tokens.own) }

    private func makeServer(_ change: (inout FrameServer.Configuration) -> Void = { _ in }) throws -> FrameServer {
        try directory.server { configuration in
            configuration.tokens = hostTokens
            change(&configuration)
        }
    }

    private func makePortServer() throws -> FrameServer {
        var configuration = FrameServer.Configuration()
        configuration.tokens = hostTokens
        return try FrameServer(at: .loopback(port: 0), configuration: configuration)
    }

    private func connection(to server: FrameServer) -> SocketConnection {
        var settings = SocketConnection.Configuration()
        settings.tokens = tokens
        return SocketConnection(to: server.endpoint, configuration: settings)
    }

    private func port(of server: FrameServer) -> UInt16 {
        if case .loopback(let port) = server.endpoint { port } else { 0 }
    }

    /// Shows P138.
    @Test func `with matching tokens frames are sent, and the states lead there`() async throws {
        let server = try makeServer()
        let connection = directory.connection { $0.tokens = tokens }
        let sequence = connection.states
        try await connection.open(within: Patience.length)
        #expect(connection.terms.mayShareMemory == SharedMemory.isSupported)
        try await connection.send(FrameMessage(body(1, count: 20_000)))
        let received = try #require(try await firstConnection(of: server))
        var frames = received.frames.makeAsyncIterator()
        #expect(try await frames.next()?.jpeg?.array() == body(1, count: 20_000))
        connection.close()
        _ = try await connection.closed()
        var states: [SocketConnection.State] = []
        for await state in sequence { states.append(state) }
        #expect(states == [.idle, .started, .handshaking, .connected, .ended(.closedLocally(.stoppedByUser))])
    }

    /// Shows P14, P105, P136.
    @Test(arguments: [
        Array("the sender'S".utf8), Array("The sender's".utf8), Array("the sender".utf8) + [0, 0],
        [UInt8](repeating: 0, count: 12),
    ])
    func `a sender with a wrong token gets no answer and is never presented`(wrong: [UInt8]) async throws {
        let server = try makeServer()
        let intruder = try PeerSocket.connected(to: server.path)
        try await intruder.write(wrong)
        #expect(try await intruder.read(1).isEmpty)
        #expect(await becomesTrue { server.statistics.refusedConnections == 1 })
        let honest = directory.connection { $0.tokens = tokens }
        try await honest.open(within: Patience.length)
        // Connections are presented in their order: the first one is the honest one.
        #expect(try await firstConnection(of: server)?.id == 2)
    }

    /// Shows P131.
    @Test(.leftOut(of: .faults, because: "its server believes the kernel that nobody is waiting"))
    func `a sender that waits at a port sees an orderly end when its server closes`() async throws {
        let server = try makePortServer()
        let sender = try await IOThread.shared.whileHeld {
            let sender = try PeerSocket.connected(to: .loopback(port: port(of: server)))
            // Connected, and not accepted yet.
            try await sender.write([])
            server.close()
            return sender
        }
        #expect(try await sender.readSome(upTo: 1) == [])
        try await server.closed()
    }

    /// Shows P121.
    @Test func `a reset at a port is a failure, although a request has met it first`() async throws {
        let server = try makePortServer()
        let sender = try PeerSocket.connected(to: .loopback(port: port(of: server)))
        try await sender.write(tokens.own + message(body(1, count: 1000)))
        let received = try #require(try await firstConnection(of: server))
        var frames = received.frames.makeAsyncIterator()
        #expect(try await frames.next()?.jpeg?.array() == body(1, count: 1000))
        await IOThread.shared.whileHeld {
            received.send(.ping(1))
            sender.reset()
        }
        #expect(try await received.closed().error?.code == .connectionLost)
    }

    /// Shows P61.
    @Test func `a port of the loopback address requires tokens at both ends, and has no shared memory`() async throws {
        let error = #expect(throws: TransportError.self) { try FrameServer(at: .loopback(port: 0)) }
        #expect(error?.code == .tokenRequired)
        let server = try makePortServer()
        let bare = SocketConnection(to: server.endpoint)
        let bareError = await #expect(throws: TransportError.self) { try await bare.open(within: Patience.length) }
        #expect(bareError?.code == .tokenRequired)

        let connection = connection(to: server)
        try await connection.open(within: Patience.length)
        let received = try #require(try await firstConnection(of: server))
        #expect(received.peer == nil)
        // That is known when the connection opens.
        #expect(connection.terms.isConnected && !connection.terms.mayShareMemory)
        var frames = received.frames.makeAsyncIterator()
        for seed in 0..<20 {
            async let sent: Void = connection.send(FrameMessage(body(seed, count: 20_000)))
            #expect(try await frames.next()?.jpeg?.array() == body(seed, count: 20_000))
            try await sent
        }
    }

    @Test(arguments: [0, 1025])
    func `a token that is empty or too long is rejected`(count: Int) async throws {
        let bad = HandshakeTokens(shared: [UInt8](repeating: 1, count: count))
        let error = #expect(throws: TransportError.self) { try directory.server { $0.tokens = bad } }
        #expect(error?.code == .invalidToken)
        #expect(directory.names.isEmpty)
        let connection = directory.connection { $0.tokens = bad }
        let opening = await #expect(throws: TransportError.self) { try await connection.open(within: Patience.length) }
        #expect(opening?.code == .invalidToken)
    }
}
