import Foundation
import FrameSocketTesting
import FrameTransport
import TestSupport
import Testing

/// That each end deals only with the users that it should, before a byte goes either way.
@Suite(.timeLimit(.minutes(5)), .besideBystander) struct PeerTests {
    let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    private static let somebodyElse = PeerPolicy.users([geteuid() &+ 1])
    private static let thisUser = PeerPolicy.users([geteuid()])

    @Test func `a sender writes nothing to the server of a user that it does not trust`() async throws {
        let server = try PeerSocket.listening(at: directory.socket)
        let connection = directory.connection {
            $0.peers = Self.somebodyElse
            $0.tokens = HandshakeTokens(own: Array("ours".utf8), expected: Array("theirs".utf8))
        }
        let error = await #expect(throws: TransportError.self) { try await connection.open(within: nil) }
        #expect(error?.code == .peerRefused && error?.path == directory.socket)
        #expect(error?.description.contains("belongs to user \(geteuid())") == true)
        #expect(try await connection.closed() == .failed(try #require(error)))
        #expect(try await server.accepted().read(1).isEmpty)
        // Whoever asks later is told the same.
        let later = await #expect(throws: TransportError.self) { try await connection.open(within: nil) }
        #expect(later == error)
    }

    @Test func `admitted users can be listed`() async throws {
        let server = try directory.server { $0.peers = Self.thisUser }
        let connection = directory.connection { $0.peers = Self.thisUser }
        try await connection.open(within: nil)
        let peer = try #require(try await firstConnection(of: server)?.peer)
        #expect(peer.processID == getpid() && peer.userID == geteuid() && peer.groupID == getegid())
    }

    #if os(Linux)
        /// Shows P135.
        @Test func `a server that hangs up before it was looked at is tried again, whoever it was`() async {
            await #expect(processExitsWith: .success) {
                let directory = try TemporaryDirectory()
                let server = try PeerSocket.listening(at: directory.socket)
                let descriptor = server.descriptor
                SyscallHooks.once(.afterConnect) { _ = close(accept(descriptor, nil, nil)) }
                let connection = directory.connection()
                connection.open()
                let client = try await server.accepted()
                #expect(await becomesTrue { connection.state == .connected })
                try await connection.send(FrameMessage([1]))
                #expect(try await client.nextMessage()?.isFrame == true)
            }
        }

        /// Shows P136.
        @Test(.enabled(if: geteuid() == 0, "only root may become another user"))
        func `another user who connects is turned away before a byte is read`() async {
            await #expect(processExitsWith: .success) {
                let bystander = try await Bystander()
                let directory = try TemporaryDirectory()
                let server = try directory.server()
                // As far as the files go, everybody may.
                #expect(unsafe chmod(directory.path, 0o711) == 0)
                #expect(unsafe chmod(directory.socket, 0o666) == 0)
                let reads = try await SyscallHooks.transfers {
                    let stranger = try await IOThread.shared.whileHeld {
                        #expect(seteuid(65_534) == 0)
                        defer { #expect(seteuid(0) == 0) }
                        let stranger = try PeerSocket.connected(to: directory.socket)
                        try await stranger.write(message(body(1, count: 1000)))
                        return stranger
                    }
                    #expect(await becomesTrue { server.statistics.refusedConnections == 1 })
                    // Counted before it is closed.
                    _ = try? await stranger.read(1)
                    // What it sent was left unread, of which the system tells it.
                    await #expect(throws: PeerError.self) {
                        try await stranger.write([1], passing: [stranger.descriptor])
                    }
                }.reads
                #expect(reads == 0)
                let client = try PeerSocket.connected(to: directory.socket)
                #expect(try await firstConnection(of: server)?.id == 1)
                try await bystander.exchange(0)
                _ = client
            }
        }

        @Test(.enabled(if: geteuid() == 0, "only root may become another user"), arguments: [false, true])
        func `another user's server is left at once, unless it is trusted`(isTrusted: Bool) async {
            await #expect(processExitsWith: .success) { [isTrusted] in
                let bystander = try await Bystander()
                let directory = try TemporaryDirectory()
                #expect(unsafe chmod(directory.path, 0o777) == 0)
                #expect(seteuid(65_534) == 0)
                let server = try PeerSocket.listening(at: directory.socket)
                #expect(seteuid(0) == 0)
                let connection = directory.connection { if isTrusted { $0.peers = .users([65_534]) } }
                if isTrusted {
                    try await connection.open(within: nil)
                    try await connection.send(FrameMessage([1]))
                } else {
                    let error = await #expect(throws: TransportError.self) { try await connection.open(within: nil) }
                    #expect(error?.code == .peerRefused)
                    #expect(error?.description.contains("belongs to user 65534") == true)
                    #expect(try await server.accepted().read(1).isEmpty)
                }
                try await bystander.exchange(0)
            }
        }
    #endif
}
