import FrameSocketTesting
import FrameTransport
import TestSupport
import Testing

/// The sequences beside a connection's frames.
@Suite("Sequences of updates") struct ConnectionValuesTests {
    let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    @Test func `whoever holds an update sequence keeps its connection, which ends when it is released`() async throws {
        let server = try directory.server()
        let client = try PeerSocket.connected(to: directory.socket)
        weak var connection: FrameConnection?
        var audio: ConnectionValues<AudioMessage>?
        do {
            let received = try #require(try await firstConnection(of: server))
            connection = received
            audio = received.audio
        }
        // Had the connection been let go of, its end would be under way by now.
        await IOThread.shared.settle()
        #expect(connection != nil && connection?.closeReason == nil)
        #expect(client.isQuiet)
        withExtendedLifetime(audio) {}
        audio = nil
        #expect(try await client.read(1).isEmpty)
        #expect(await eventually { connection == nil })
    }
}
