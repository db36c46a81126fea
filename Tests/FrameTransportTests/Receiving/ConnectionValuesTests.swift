import FrameSocketTesting
import FrameWire
import Locking
import TestSupport
import Testing

@testable import FrameTransport

/// The sequences beside a connection's frames.
@Suite("Sequences of updates") struct ConnectionValuesTests {
    let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    enum Followed: CaseIterable {
        case audio, statuses, infos
    }

    /// Follows a sequence of a connection to its end, without the connection.
    private func follow(_ sequence: Followed, of connection: FrameConnection) -> Task<Void, Never> {
        switch sequence {
        case .audio: Task { [values = connection.audio] in for await _ in values {} }
        case .statuses: Task { [values = connection.statuses] in for await _ in values {} }
        case .infos: Task { [values = connection.infos] in for await _ in values {} }
        }
    }

    /// Shows P133.
    @Test(arguments: Followed.allCases)
    func `a loop over a sequence of values does not keep its connection`(sequence: Followed) async throws {
        let server = try directory.server()
        let client = try PeerSocket.connected(to: directory.socket)
        weak var released: FrameConnection?
        let loop: Task<Void, Never>
        do {
            let connection = try #require(try await firstConnection(of: server))
            released = connection
            loop = follow(sequence, of: connection)
        }
        // The connection closes, and the loop ends with it.
        #expect(try await client.read(1).isEmpty)
        await loop.value
        #expect(released == nil)
    }

    /// Shows P133.
    @Test(arguments: [false, true])
    func `a sender's connection that nobody refers to any longer does not connect, whoever follows it`(
        followsDemand: Bool
    ) async throws {
        let events = Locked([TransportEvent]())
        weak var released: SocketConnection?
        let states: AsyncStream<SocketConnection.State>
        let demand: AsyncStream<ControlRequest.Wants>
        do {
            let connection = directory.connection {
                $0.retryInterval = .milliseconds(1)
                $0.log = { event in events.withLock { $0.append(event) } }
            }
            released = connection
            (states, demand) = (connection.states, connection.demand)
            connection.open()
            // It tries to reach a server.
            #expect(await becomesTrue { events.withLock { !$0.isEmpty } })
        }
        if followsDemand {
            for await wants in demand { #expect(wants.isEmpty) }
        }
        #expect(await self.states(of: states).last == .ended(.closedLocally(.stoppedByUser)))
        #expect(released == nil)
        // Whoever listens now is not reached: it has ended for good.
        let listener = try PeerSocket.listening(at: directory.socket)
        #expect(events.withLock { !$0.contains { $0.code == .connectionOpened } })
        _ = listener
    }

    /// Shows P133.
    @Test func `a loop over a server's connections does not keep the server`() async throws {
        weak var released: FrameServer?
        let loop: Task<Int, any Error>
        do {
            let server = try directory.server()
            released = server
            loop = Task { [connections = server.connections] in
                var count = 0
                for try await _ in connections { count += 1 }
                return count
            }
        }
        #expect(try await loop.value == 0)
        #expect(released == nil)
        #expect(directory.names.isEmpty)
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

    private func states(of sequence: AsyncStream<SocketConnection.State>) async -> [SocketConnection.State] {
        var states: [SocketConnection.State] = []
        for await state in sequence { states.append(state) }
        return states
    }
}
