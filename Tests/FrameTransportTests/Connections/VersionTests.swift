import FrameTransport
import FrameWire
import TestSupport
import Testing

/// A program that does not accept the other side's version compares and closes, and both sides know why.
@Suite struct VersionTests {
    let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    /// A server that says hello, and a sender that it has accepted.
    private func connected() async throws -> (FrameServer, SocketConnection, FrameConnection) {
        let server = try directory.server { $0.hello = ControlRequest.Hello() }
        let sender = directory.connection()
        try await sender.open(within: Patience.length)
        return (server, sender, try #require(try await firstConnection(of: server)))
    }

    @Test func `a sender knows the receiver's version, and closes`() async throws {
        let (server, sender, receiver) = try await connected()
        defer { server.close() }
        for await case .hello(let hello) in sender.requests where hello.version == ControlRequest.Hello.currentVersion {
            sender.close(.versionMismatch)
        }
        #expect(try await receiver.closed() == .closedByPeer(.versionMismatch))
        #expect(try await sender.closed() == .closedLocally(.versionMismatch))
    }

    @Test func `a receiver knows the sender's version, and closes`() async throws {
        let (server, sender, receiver) = try await connected()
        defer { server.close() }
        for await status in receiver.statuses where status.version == ControlRequest.Hello.currentVersion {
            receiver.close(.versionMismatch)
        }
        #expect(try await sender.closed() == .closedByPeer(.versionMismatch))
        #expect(try await receiver.closed() == .closedLocally(.versionMismatch))
    }
}
