import FrameSocketTesting
import FrameTransport
import FrameWire
import TestDescriptions
import TestSupport
import Testing

/// What a server delivers of the bytes that plain sockets send.
@Suite(.timeLimit(.minutes(5))) struct ReceivingTests {
    let directory: TemporaryDirectory
    let server: FrameServer

    init() throws {
        directory = try TemporaryDirectory()
        server = try directory.server()
    }

    /// Sends `bytes` and returns the bodies of what arrived.
    private func bodies(of bytes: [UInt8], chunk: Int) async throws -> [[UInt8]] {
        let (client, connection) = try await server.connectedPeer()
        async let sending: Void = {
            try await client.write(bytes, chunk: chunk)
            client.finishWriting()
        }()
        var bodies: [[UInt8]] = []
        for try await frame in connection.frames { bodies.append(frame.bytes) }
        try await sending
        return bodies
    }

    /// Shows P95.
    @Test(arguments: [1, 7, 107, 512, 2048, 10_240, .max])
    func `frames are read whole however they are cut`(chunk: Int) async throws {
        let counts = chunk == 1 ? [1, 200, 3000] : [1, 200, 10_239, 10_240, 70_000, 500_000, 9]
        let sent = counts.enumerated().map { body($0.offset, count: $0.element) }
        #expect(try await bodies(of: sent.flatMap { message($0) }, chunk: chunk) == sent)
    }

    @Test func `the header's values reach the consumer`() async throws {
        let (client, connection) = try await server.connectedPeer()
        try await client.write(message(body(1, count: 300), width: 1218, height: 562, orientation: 8))
        var frames = connection.frames.makeAsyncIterator()
        let frame = try #require(try await frames.next())
        #expect(frame.bufferSize == BufferSize(width: 1218, height: 562))
        #expect(frame.orientation == .left)
        #expect(frame.orientation.rotation == 90)
        #expect(frame.timestamp == nil && frame.sequence == nil && frame.index == 0)
    }
}
