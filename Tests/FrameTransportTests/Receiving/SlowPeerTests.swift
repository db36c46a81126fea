import FrameSocketTesting
import FrameTransport
import FrameWire
import TestSupport
import Testing

/// Peers that are only just too slow: each limit ends them in time, and no other connection waits for them.
@Suite(.timeLimit(.minutes(5)), .besideBystander) struct SlowPeerTests {
    let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    /// Writes one byte now and then, until the other end has gone.
    private func dribble(_ bytes: [UInt8], to peer: PeerSocket) async throws {
        for byte in bytes {
            try await peer.write([byte])
            try await Task.sleep(for: .milliseconds(10))
        }
    }

    /// What a peer is slow about.
    enum Part: CaseIterable {
        case token, header, body, unknownBody
    }

    /// Shows P152.
    @Test(arguments: Part.allCases)
    func `a sender of occasional bytes is ended by the limit`(part: Part) async throws {
        let server = try directory.server {
            $0.limits.handshakeTimeout = .milliseconds(100)
            $0.limits.headerTimeout = .milliseconds(100)
            $0.limits.bodyTimeout = .milliseconds(100)
            $0.limits.minimumBodyBytesPerSecond = 1 << 40
            if part == .token { $0.tokens = HandshakeTokens(shared: Array(repeating: UInt8(ascii: "x"), count: 1000)) }
        }
        let long = [UInt8](repeating: UInt8(ascii: "x"), count: 5000)
        let start =
            switch part {
            case .token: [] as [UInt8]
            case .header: Array("HTTP/1.1 200 OK\r\nX: ".utf8)
            case .body: Array(message(long).prefix(200))
            case .unknownBody: Array("HTTP/1.1 200 OK\r\nContent-Length: 5000\r\nMessage-Type: later\r\n\r\n".utf8)
            }
        let peer = try PeerSocket.connected(to: directory.socket)
        try await peer.write(start)
        let writing = Task { try await dribble(long, to: peer) }
        defer { writing.cancel() }
        if part == .token {
            #expect(await becomesTrue { server.statistics.refusedConnections == 1 })
        } else {
            let connection = try #require(try await firstConnection(of: server))
            #expect(await becomesTrue { connection.closeReason?.error?.code == .receiveTimedOut })
        }
        let error = await #expect(throws: PeerError.self) { try await writing.value }
        #expect(error?.code == .system, "\(error as Any)")
        withExtendedLifetime(server) {}
    }

    /// Shows P159.
    @Test func `a host that sends occasional bytes of its token is given up and retried`() async throws {
        let listener = try PeerSocket.listening(at: directory.socket)
        let token = [UInt8](repeating: 7, count: 1000)
        let sender = directory.connection {
            $0.tokens = HandshakeTokens(shared: token)
            $0.handshakeTimeout = .milliseconds(100)
        }
        sender.open()
        for _ in 0..<2 {
            let host = try #require(try await soon { try await listener.accepted() })
            let writing = Task { try await dribble(token, to: host) }
            #expect(try await soon { try await host.read(.max) } == token)
            writing.cancel()
            await #expect(throws: (any Error).self) { try await writing.value }
        }
        #expect(sender.closeReason == nil && !sender.isOpen)
        sender.close()
    }

    @Test func `a receiver that reads occasional bytes is given up by the send timeout`() async throws {
        let listener = try PeerSocket.listening(at: directory.socket)
        let sender = directory.connection {
            $0.sendTimeout = .milliseconds(200)
            $0.reopens = false
        }
        try await sender.open(within: nil)
        let host = try await listener.accepted()
        let sending = Task { try await sender.send(FrameMessage(body(1, count: 30_000_000))) }
        let reading = Task {
            while !Task.isCancelled, (try? await host.read(1))?.isEmpty == false {
                try? await Task.sleep(for: .milliseconds(10))
            }
        }
        defer { reading.cancel() }
        let error = try await soon { () async -> TransportError? in
            do {
                try await sending.value
                return nil
            } catch {
                return error as? TransportError
            }
        }
        #expect(error??.code == .sendTimedOut)
        #expect(await becomesTrue { sender.closeReason?.error?.code == .sendTimedOut })
    }
}
