import FrameSocketTesting
import FrameTransport
import FrameWire
import TestSupport
import Testing

/// The sequences beside a connection's frames.
@Suite("Sequences of updates") struct ConnectionValuesTests {
    let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    /// Shows P145.
    @Test func `whoever holds an update sequence keeps its connection, which ends when it is released`() async throws {
        let server = try directory.server()
        let client = try PeerSocket.connected(to: directory.socket)
        weak var connection: FrameConnection?
        var audio: ConnectionValues<AudioBlock>?
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
        #expect(await becomesTrue { connection == nil })
    }

    /// Shows P138.
    @Test func `every sequence of states begins with the current one, and ends with the end`() async throws {
        let server = try directory.server()
        defer { server.close() }
        let connection = directory.connection()
        let first = connection.states
        try await connection.open(within: Patience.length)
        let second = connection.states
        connection.close()
        let end = SocketConnection.State.ended(.closedLocally(.stoppedByUser))
        #expect(await states(of: first) == [.idle, .started, .connected, end])
        #expect(await states(of: second) == [.connected, end])
        #expect(connection.state == end)
        #expect(await states(of: connection.states) == [end])
    }

    @Test func `the states tell why a connection was lost that opens again`() async throws {
        let listener = try PeerSocket.listening(at: directory.socket)
        let connection = directory.connection()
        try await connection.open(within: Patience.length)
        var states = connection.states.makeAsyncIterator()
        #expect(await states.next() == .connected)
        try await listener.accepted().close()
        let loss = SocketConnection.State.disconnected(.closedByPeer(.stoppedByUser))
        #expect(await states.next() == loss)
        #expect(loss.closeReason == .closedByPeer(.stoppedByUser))
        #expect(await states.next() == .started)
        #expect(await states.next() == .connected)
        connection.close()
    }

    private func states(of sequence: ConnectionValues<SocketConnection.State>) async -> [SocketConnection.State] {
        var states: [SocketConnection.State] = []
        for await state in sequence { states.append(state) }
        return states
    }
}
