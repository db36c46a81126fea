import FrameSocket
import FrameSocketApple
import TestDescriptions
import TestSupport
import Testing

@testable import FrameSocketJitsi

/// The connection of Jitsi's handler, against servers of this package.
@Suite(.timeLimit(.minutes(5))) struct SocketConnectionTests {
    let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    private func connection(to path: String? = nil) throws -> JitsiConnection {
        try #require(JitsiConnection(filePath: path ?? directory.socket))
    }

    @Test func `opening fails until an app listens, and then reports that it is open`() async throws {
        let connection = try connection()
        let recorder = Recorder(of: connection)
        #expect(!connection.open())
        #expect(!connection.open())
        let server = try directory.server()
        #expect(connection.open())
        #expect(await becomesTrue { recorder.events == [.open, .space] })
        #expect(connection.open(), "an open connection stays open")
        let host = try #require(try await firstConnection(of: server))
        #expect(recorder.events == [.open, .space])
        withExtendedLifetime(host) {}
    }

    @Test func `an app that closes without a reason is reported without an error`() async throws {
        let server = try directory.server()
        let connection = try connection()
        let recorder = Recorder(of: connection)
        #expect(connection.open())
        try #require(try await firstConnection(of: server)).close()
        #expect(await becomesTrue { recorder.ends == [nil] })
    }

    @Test func `an app that states why it closes is reported with that sentence`() async throws {
        let server = try directory.server { $0.hello = ControlRequest.Hello() }
        let connection = try connection()
        let recorder = Recorder(of: connection)
        #expect(connection.open())
        let host = try #require(try await firstConnection(of: server))
        #expect(await becomesTrue { connection.connection?.receiver.hello != nil })
        host.close(.callEnded)
        #expect(await becomesTrue { recorder.ends == ["The call has ended."] })
    }

    @Test func `this side's close is not reported, and reaches the app`() async throws {
        let server = try directory.server()
        let connection = try connection()
        let recorder = Recorder(of: connection)
        #expect(connection.open())
        let host = try #require(try await firstConnection(of: server))
        connection.close()
        connection.close()
        #expect(try await host.closed() == .closedByPeer(.stoppedByUser))
        // Whatever is reported of the first connection comes before this.
        #expect(connection.open())
        #expect(await becomesTrue { recorder.events.filter { $0 == .open }.count == 2 })
        #expect(recorder.ends.isEmpty)
    }

    @Test func `releasing a connection closes it`() async throws {
        let server = try directory.server()
        var connection: JitsiConnection? = try connection()
        #expect(connection?.open() == true)
        let host = try #require(try await firstConnection(of: server))
        connection = nil
        #expect(try await host.closed() == .closedByPeer(.stoppedByUser))
    }

    /// Paths that no server can be at: of an extension that has no access to its group, and in the simulator.
    @Test(arguments: ["", "/tmp/", "/tmp/" + String(repeating: "n", count: 200)].map(Short.init))
    func `a path that can never be opened is reported once, with a sentence`(path: Short) async throws {
        let connection = try connection(to: path.text)
        let recorder = Recorder(of: connection)
        #expect(!connection.open())
        #expect(await becomesTrue { recorder.ends.count == 1 })
        #expect(!connection.open())
        #expect(recorder.ends.first??.hasPrefix("Screen sharing is not set up correctly: ") == true)
        connection.close()
        #expect(recorder.events.count == 1)
    }

    @Test func `closures may replace themselves and call the connection`() async throws {
        let server = try directory.server()
        let connection = try connection()
        let counter = Counter()
        connection.didOpen = { [weak connection] in
            connection?.didOpen = nil
            if connection?.open() == true { counter.increment() }
            connection?.close()
        }
        #expect(connection.open())
        #expect(await becomesTrue { counter.value == 1 })
        withExtendedLifetime(server) {}
    }
}
