import FrameSocketTesting
import FrameTransport
import FrameWire
import TestDescriptions
import TestSupport
import Testing

/// The limits that are counts and times, at values that nobody should set: no trap, and nothing that hangs.
@Suite(.timeLimit(.minutes(5))) struct AbsurdLimitTests {
    /// A limit, and how it is set.
    struct Limit<Value: Sendable>: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let set: @Sendable (inout FrameServer.Limits, Value) -> Void
    }

    static let counts: [Limit<Int>] = [
        Limit(testDescription: "connections") { $0.maximumConnections = $1 },
        Limit(testDescription: "backlog") { $0.maximumBacklog = $1 },
        Limit(testDescription: "body rate") { $0.minimumBodyBytesPerSecond = $1 },
        Limit(testDescription: "undecodable frames") { $0.maximumUndecodableFrames = $1 },
        Limit(testDescription: "head") { $0.wire.maximumHeaderBytes = $1 },
        Limit(testDescription: "fields") { $0.wire.maximumFields = $1 },
        Limit(testDescription: "content length") { $0.wire.maximumContentLength = $1 },
        Limit(testDescription: "audio") { $0.wire.maximumAudioBytes = $1 },
        Limit(testDescription: "dimension") { $0.wire.maximumDimension = $1 },
        Limit(testDescription: "pixels") { $0.wire.maximumPixels = $1 },
    ]

    static let times: [Limit<Duration>] = [
        Limit(testDescription: "handshake") { $0.handshakeTimeout = $1 },
        Limit(testDescription: "first frame") { $0.firstFrameTimeout = $1 },
        Limit(testDescription: "head") { $0.headerTimeout = $1 },
        Limit(testDescription: "body") { $0.bodyTimeout = $1 },
        Limit(testDescription: "idle") { $0.idleTimeout = $1 },
        Limit(testDescription: "linger") { $0.linger = $1 },
        Limit(testDescription: "pause") { $0.firstAcceptPause = $1 },
        Limit(testDescription: "longest pause") { $0.maximumAcceptPause = $1 },
    ]

    @Test(arguments: counts, [Int.min, -1, 0, 1, .max])
    func `an absurd count traps nothing and hangs nothing`(_ limit: Limit<Int>, _ value: Int) async throws {
        try await expectAnEnd { limit.set(&$0, value) }
    }

    @Test(
        .leftOut(of: .faults, because: "a server whose pause never ends accepts nobody after a failure"),
        arguments: times,
        [Duration.seconds(Int64.min), .seconds(-1), .zero, .nanoseconds(1), .seconds(Int64.max)]
    )
    func `an absurd time traps nothing and hangs nothing`(_ limit: Limit<Duration>, _ value: Duration) async throws {
        try await expectAnEnd { limit.set(&$0, value) }
    }

    @Test(arguments: [Duration.seconds(Int64.max), .seconds(Int64.max) * 10])
    func `a body may take as long as its limit says, however long`(limit: Duration) async throws {
        let directory = try TemporaryDirectory()
        let server = try directory.server {
            $0.limits.bodyTimeout = limit
            $0.limits.minimumBodyBytesPerSecond = 1
        }
        let client = try PeerSocket.connected(to: directory.socket)
        let bytes = message(body(1, count: 3000))
        try await client.write(Array(bytes.dropLast(2990)))
        var connections = server.connections.makeAsyncIterator()
        var frames = try #require(try await connections.next()).frames.makeAsyncIterator()
        try await client.write(Array(bytes.suffix(2990)))
        #expect(try await frames.next()?.jpeg?.count == 3000)
        client.close()
        server.close()
    }

    /// A sender that sends two frames and closes comes to an end, whatever that is.
    private func expectAnEnd(_ change: (inout FrameServer.Limits) -> Void) async throws {
        let directory = try TemporaryDirectory()
        let server = try directory.server { change(&$0.limits) }
        let consuming = Task {
            for try await connection in server.connections {
                do {
                    for try await frame in connection.frames { #expect(frame.jpeg?.count == 3000) }
                } catch {}
                _ = try await connection.closed()
            }
        }
        let client = try PeerSocket.connected(to: directory.socket)
        // It may be turned away.
        try? await client.write(message(body(1, count: 3000)) + message(body(2, count: 3000)))
        client.finishWriting()
        _ = try? await client.read(1)
        server.close()
        try await server.closed()
        try await consuming.value
    }
}
