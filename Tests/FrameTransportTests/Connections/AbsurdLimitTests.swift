import FrameSocketTesting
import FrameTransport
import FrameWire
import TestDescriptions
import TestSupport
import Testing

/// The limits that are counts and times, at values that nobody should set: no trap, and nothing that hangs.
@Suite(.timeLimit(.minutes(5))) struct AbsurdLimitTests {
    private static var counts: [WritableKeyPath<FrameServer.Limits, Int>] {
        [
            \.maximumConnections, \.maximumBacklog, \.minimumBodyBytesPerSecond, \.maximumUndecodableFrames,
            \.wire.maximumHeaderBytes, \.wire.maximumFields, \.wire.maximumContentLength, \.wire.maximumAudioBytes,
            \.wire.maximumDimension, \.wire.maximumPixels,
        ]
    }

    private static var times: [WritableKeyPath<FrameServer.Limits, Duration>] {
        [
            \.handshakeTimeout, \.headerTimeout, \.bodyTimeout, \.linger, \.firstAcceptPause, \.maximumAcceptPause,
        ]
    }

    @Test(arguments: [Int.min, -1, 0, 1, .max])
    func `an absurd count traps nothing and hangs nothing`(_ value: Int) async throws {
        for limit in Self.counts { try await expectAnEnd { $0[keyPath: limit] = value } }
    }

    @Test(
        .leftOut(of: .faults, because: "a server whose pause never ends accepts nobody after a failure"),
        arguments: [Duration.seconds(Int64.min), .seconds(-1), .zero, .nanoseconds(1), .seconds(Int64.max)]
    )
    func `an absurd time traps nothing and hangs nothing`(_ value: Duration) async throws {
        for limit in Self.times { try await expectAnEnd { $0[keyPath: limit] = value } }
        try await expectAnEnd { ($0.firstFrameTimeout, $0.idleTimeout) = (value, nil) }
        try await expectAnEnd { ($0.firstFrameTimeout, $0.idleTimeout) = (nil, value) }
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
