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
        let client = try PeerSocket.connected(to: server.path)
        let connection = try #require(try await firstConnection(of: server))
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
        let client = try PeerSocket.connected(to: server.path)
        let connection = try #require(try await firstConnection(of: server))
        try await client.write(message(body(1, count: 300), width: 1218, height: 562, orientation: 8))
        var frames = connection.frames.makeAsyncIterator()
        let frame = try #require(try await frames.next())
        #expect(frame.bufferSize == BufferSize(width: 1218, height: 562))
        #expect(frame.orientation == .left)
        #expect(frame.orientation.rotation == 90)
        #expect(frame.timestamp == nil && frame.sequence == nil && frame.index == 0)
    }

    /// Shows P94.
    @Test func `a good frame is delivered before the error of a bad one`() async throws {
        let client = try PeerSocket.connected(to: server.path)
        let connection = try #require(try await firstConnection(of: server))
        try await client.write(message(body(1, count: 300)) + Array("GET / HTTP/1.1\r\n\r\n".utf8))
        var frames = connection.frames.makeAsyncIterator()
        #expect(try await frames.next()?.jpeg?.array() == body(1, count: 300))
        let error = await #expect(throws: TransportError.self) { try await frames.next() }
        #expect(error?.code == .malformedMessage)
        #expect(error?.wireError != nil)
        #expect(try await connection.closed().error == error)
        #expect(try await client.read(1).isEmpty)
    }

    /// Shows P152.
    @Test(arguments: [13, 200]) func `an occasional byte does not extend a deadline`(begun: Int) async throws {
        let directory = try TemporaryDirectory()
        let server = try directory.server {
            ($0.limits.headerTimeout, $0.limits.bodyTimeout) = (.milliseconds(30), .milliseconds(30))
            $0.limits.minimumBodyBytesPerSecond = 1 << 30
        }
        let client = try PeerSocket.connected(to: directory.socket)
        let connection = try #require(try await firstConnection(of: server))
        try await client.write(Array(message(body(1, count: 1 << 20)).prefix(begun)))
        let trickling = Task {
            while true {
                try await client.write([UInt8(ascii: "x")])
                try await Task.sleep(for: .milliseconds(1))
            }
        }
        #expect(try await connection.closed().error?.code == .receiveTimedOut)
        // The sender meets the end as well.
        await #expect(throws: (any Error).self) { try await trickling.value }
        withExtendedLifetime(server) {}
    }
}
