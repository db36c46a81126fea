import Foundation
import FrameSocketTesting
import FrameTransport
import FrameWire
import TestSupport
import Testing

/// A wait for an opening ends when it should, whatever the attempt is doing, and takes the attempt with it.
@Suite(.timeLimit(.minutes(5))) struct PromptOpeningTests {
    let directory: TemporaryDirectory
    let tokens = HandshakeTokens(own: Array("the sender's".utf8), expected: Array("the host's".utf8))

    init() throws {
        directory = try TemporaryDirectory()
    }

    /// Who gives up on an opening.
    enum End: CaseIterable {
        case limit, cancellation
    }

    /// Opens `connection` within a limit that passes, or cancels that, and returns the error's code.
    private func giveUp(_ connection: SocketConnection, by end: End) async throws -> TransportError.Code? {
        let opening = Task { () async throws -> TransportError.Code? in
            do throws(TransportError) {
                try await connection.open(within: end == .limit ? .milliseconds(50) : nil)
                return nil
            } catch {
                return error.code
            }
        }
        if end == .cancellation {
            #expect(await becomesTrue { connection.state == .handshaking || connection.state == .started })
            await connection.thread.settle()
            opening.cancel()
        }
        return try await soon { try await opening.value } ?? nil
    }

    @Test(arguments: End.allCases)
    func `giving up while a host withholds its token ends the attempt`(end: End) async throws {
        let listener = try PeerSocket.listening(at: directory.socket)
        let connection = directory.connection { $0.tokens = tokens }
        let code = try await giveUp(connection, by: end)
        try #require(code == (end == .limit ? .openTimedOut : .cancelled), "opening goes on as long as the handshake")
        // The host sees that nobody wants it any more.
        let host = try await listener.accepted()
        #expect(try await host.read(tokens.own.count) == tokens.own)
        #expect(try await soon { try await host.read(1) } == [], "the attempt goes on")
        #expect(!connection.isOpen && connection.state == .idle)
        connection.close()
    }

    /// Shows P202.
    @Test(arguments: End.allCases)
    func `an abandoned opening opens nothing later`(end: End) async throws {
        let listener = try PeerSocket.listening(at: directory.socket)
        let connection = directory.connection {
            $0.tokens = tokens
            $0.handshakeTimeout = .seconds(3)
        }
        _ = try await giveUp(connection, by: end)
        let host = try await listener.accepted()
        try? await host.write(tokens.expected)
        // Whether it opens or not, the host hears of it: of the end of the attempt, or of a frame.
        let next = Task { try? await host.read(tokens.own.count + 1) }
        let sees = try await soon {
            while !connection.isOpen {
                if host.isEnded { return false }
                try await Task.sleep(for: .milliseconds(1))
            }
            return true
        }
        #expect(sees == false, "it has opened, although nobody waits for it")
        connection.close()
        _ = await next.value
    }

    /// Shows P204.
    @Test func `a caller that waits longer keeps the attempt of one that gave up`() async throws {
        let listener = try PeerSocket.listening(at: directory.socket)
        let connection = directory.connection { $0.tokens = tokens }
        let patient = Task { try await connection.open(within: nil) }
        let host = try await listener.accepted()
        _ = try await host.read(tokens.own.count)
        #expect(try await giveUp(connection, by: .limit) == .openTimedOut)
        try await host.write(tokens.expected)
        #expect(try await soon { try await patient.value } != nil)
        #expect(connection.isOpen)
    }

    #if os(Linux)
        @Test(arguments: End.allCases)
        func `giving up while the system connects ends the attempt`(end: End) async throws {
            // A port whose backlog is full the system leaves without an answer.
            let server = try PeerSocket.listening(at: .loopback(port: 0), backlog: 0)
            let fillers = try (0..<8).map { _ in try PeerSocket.connected(to: .loopback(port: server.port)) }
            var configuration = SocketConnection.Configuration()
            configuration.connectTimeout = .seconds(600)
            configuration.tokens = tokens
            let connection = SocketConnection(to: .loopback(port: server.port), configuration: configuration)
            let code = try await giveUp(connection, by: end)
            #expect(code == (end == .limit ? .openTimedOut : .cancelled), "opening goes on as long as the attempt")
            #expect(connection.state == .idle)
            connection.close()
            withExtendedLifetime(fillers) {}
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
}

extension PeerSocket {
    /// Whether the peer has closed, which is told apart from bytes that it sent by reading none.
    fileprivate var isEnded: Bool {
        var state = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        guard unsafe poll(&state, 1, 0) > 0 else { return false }
        return state.revents & Int16(POLLHUP | POLLERR) != 0
    }
}
