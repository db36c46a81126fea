import FrameSocketTesting
import FrameTransport
import Locking
import TestSupport
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// Why senders were refused, as the server reports it.
@Suite struct RefusalTests {
    private let directory: TemporaryDirectory
    private let reported = Locked<[FrameServer.Refusal]>([])

    init() throws {
        directory = try TemporaryDirectory()
    }

    private func server(_ change: (inout FrameServer.Configuration) -> Void) throws -> FrameServer {
        try directory.server {
            $0.onRefusal = { [reported] refusal in reported.withLock { $0.append(refusal) } }
            change(&$0)
        }
    }

    /// The first refusal, once there is one.
    private func refusal() async throws -> FrameServer.Refusal {
        #expect(await eventually { reported.withLock { !$0.isEmpty } })
        return try #require(reported.withLock { $0.first })
    }

    @Test func `a sender of a user who may not connect is reported with the user`() async throws {
        let server = try server { $0.peers = .users([geteuid() + 1]) }
        let sender = try PeerSocket.connected(to: directory.socket)
        #expect(try await sender.read(1).isEmpty)
        guard case .peer(geteuid()) = try await refusal() else {
            Issue.record("another refusal")
            return
        }
        #expect(server.refusedConnections == 1)
    }

    @Test(arguments: [([1, 2, 9], TransportError.Code.tokenRejected), ([1], .handshakeTimedOut)])
    func `a sender without the token is reported with what was wrong`(
        bytes: [UInt8],
        code: TransportError.Code
    ) async throws {
        let server = try server {
            $0.tokens = HandshakeTokens(own: [7], expected: [1, 2, 3])
            $0.limits.handshakeTimeout = .milliseconds(bytes.count < 3 ? 50 : 60_000)
        }
        let sender = try PeerSocket.connected(to: directory.socket)
        try await sender.write(bytes)
        #expect(try await sender.read(1).isEmpty)
        sender.close()
        guard case .token(let error) = try await refusal() else {
            Issue.record("another refusal")
            return
        }
        #expect(error.code == code && server.refusedConnections == 1)
    }

    @Test func `a sender without a place is reported, and one that ends or is ended is not`() async throws {
        let server = try server { $0.limits.maximumConnections = 1 }
        let first = try PeerSocket.connected(to: directory.socket)
        _ = try await firstConnection(of: server)
        let second = try PeerSocket.connected(to: directory.socket)
        #expect(try await second.read(1).isEmpty)
        guard case .full = try await refusal() else {
            Issue.record("another refusal")
            return
        }
        first.close()
        server.close()
        try await server.closed()
        #expect(reported.withLock { $0.count } == 1 && server.refusedConnections == 1)
    }
}
