import Foundation
import FrameSocketTesting
import FrameTransport
import FrameWire
import TestDescriptions
import TestSupport
import Testing

/// How a connection opens, gives up, and opens again.
@Suite(.timeLimit(.minutes(5)), .besideBystander) struct OpeningTests {
    let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    @Test(arguments: [Duration.zero, .milliseconds(20)])
    func `the wait ends at its deadline, with the system's last error`(limit: Duration) async throws {
        let connection = directory.connection()
        let missing = await #expect(throws: TransportError.self) { try await connection.open(within: limit) }
        #expect(missing?.code == .openTimedOut)
        #expect(missing?.underlyingErrno == ENOENT)
        #expect(missing?.path == directory.socket)

        _ = try PeerSocket.listening(at: directory.socket)
        let dead = await #expect(throws: TransportError.self) { try await connection.open(within: limit) }
        #expect(dead?.code == .openTimedOut)
        #expect(dead?.underlyingErrno == ECONNREFUSED)
    }

    @Test func `a server with a full queue is retried until the deadline`() async throws {
        let server = try PeerSocket.listening(at: directory.socket, backlog: 0)
        let first = try PeerSocket.connected(to: directory.socket)
        let connection = directory.connection()
        let error = await #expect(throws: TransportError.self) { try await connection.open(within: .milliseconds(20)) }
        #expect(error?.underlyingErrno == EAGAIN)
        async let opened: Void = connection.open(within: nil)
        _ = try await server.accepted()
        try await opened
        _ = first
    }

    #if os(Linux)
        /// Shows P159.
        @Test func `a connection that the system does not establish in time is given up and retried`() async {
            await #expect(processExitsWith: .success) {
                let bystander = try await Bystander()
                // Over a path the system answers at once; a port whose backlog is full it leaves without an answer.
                let server = try PeerSocket.listening(at: .loopback(port: 0), backlog: 0)
                let fillers = try (0..<8).map { _ in try PeerSocket.connected(to: .loopback(port: server.port)) }
                var configuration = SocketConnection.Configuration()
                configuration.connectTimeout = .milliseconds(1)
                configuration.retryInterval = .milliseconds(1)
                configuration.tokens = HandshakeTokens(shared: [1])
                let connection = SocketConnection(to: .loopback(port: server.port), configuration: configuration)
                let before = SyscallHooks.connects
                connection.open()
                #expect(await becomesTrue { SyscallHooks.connects >= before + 5 })
                let error = await #expect(throws: TransportError.self) { try await connection.open(within: .zero) }
                #expect(error?.code == .openTimedOut)
                #expect(connection.state == .started)
                try await bystander.exchange(0)
                _ = fillers
            }
        }

        /// Shows P160.
        @Test func `a connection to a port nobody listens at never connects to itself`() async {
            await #expect(processExitsWith: .success) {
                // Given the very port that it connects to, a socket of this kind reaches itself.
                let port = try PeerSocket.listening(at: .loopback(port: 0), backlog: 1).port
                SyscallHooks.useLocalPort(port)
                var configuration = SocketConnection.Configuration()
                configuration.retryInterval = .milliseconds(1)
                configuration.tokens = HandshakeTokens(shared: [1, 2, 3])
                let connection = SocketConnection(to: .loopback(port: port), configuration: configuration)
                let before = SyscallHooks.connects
                connection.open()
                #expect(await becomesTrue { connection.isOpen || SyscallHooks.connects >= before + 20 })
                #expect(!connection.isOpen, "it takes itself for the server")
            }
        }
    #endif

    /// Shows P136.
    @Test(
        arguments: [
            (String(repeating: "x", count: 108), TransportError.Code.pathTooLong), ("\0abstract", .invalidPath),
        ].map { (Short($0), $1) }
    )
    func `a path that no socket can have is reported, and nothing is tried`(
        path: Short,
        code: TransportError.Code
    )
        async throws
    {
        let connection = SocketConnection(path: path.text)
        let error = await #expect(throws: TransportError.self) { try await connection.open(within: nil) }
        #expect(error?.code == code)
        var milestones = connection.milestones()
        #expect(await milestones.next() == .ended(.failed(try #require(error))))
        #expect(try await connection.closed() == .failed(try #require(error)))
    }

    /// Shows P52.
    @Test func `a server's orderly close is not an error, and the connection opens again`() async throws {
        let connection = directory.connection()
        var milestones = connection.milestones()
        connection.open()
        for _ in 0..<3 {
            let server = try PeerSocket.listening(at: directory.socket)
            let peer = try await server.accepted()
            #expect(await milestones.next() == .connected)
            // The path first, so that the connection does not come back to this server.
            unsafe unlink(directory.socket)
            server.close()
            peer.close()
            #expect(await milestones.next() == .disconnected(.closedByPeer(.stoppedByUser)))
            #expect(connection.closeReason == nil)
        }
        connection.close()
        #expect(await milestones.next() == .ended(.closedLocally(.stoppedByUser)))
        #expect(await milestones.next() == nil)
        #expect(try await connection.closed() == .closedLocally(.stoppedByUser))
    }
}
