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

    @Test(.tooSlow(for: .brief, .memcheck), arguments: [1, 4096, .max])
    func `many small frames back to back all arrive`(chunk: Int) async throws {
        var generator = SplitMix(seed: 2)
        // Each byte on its own is a system call.
        let count = chunk == 1 ? 100 : 1000
        let sent = (0..<count).map { body($0, count: Int.random(in: 200...9000, using: &generator)) }
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

    /// Shows P93.
    @Test func `an end within a frame is an error and never a frame`() async throws {
        let client = try PeerSocket.connected(to: server.path)
        let connection = try #require(try await firstConnection(of: server))
        try await client.write(message(body(1, count: 300)).dropLast())
        client.finishWriting()
        var frames = connection.frames.makeAsyncIterator()
        let error = await #expect(throws: TransportError.self) { try await frames.next() }
        #expect(error?.wireError?.code == .bodyTruncated)
    }

    /// Shows P141.
    @Test func `one sender's error does not affect another`() async throws {
        let good = try PeerSocket.connected(to: server.path)
        let goodConnection = try #require(try await firstConnection(of: server))
        let bad = try PeerSocket.connected(to: server.path)
        let badConnection = try #require(try await firstConnection(of: server))
        var frames = goodConnection.frames.makeAsyncIterator()
        for round in 0..<3 {
            try await good.write(message(body(round, count: 20_000)))
            if round == 1 {
                try await bad.write([0xFF, 0xD8])
                #expect(try await badConnection.closed().error?.code == .malformedMessage)
            }
            #expect(try await frames.next()?.jpeg?.array() == body(round, count: 20_000))
        }
    }

    @Test func `a consumer on the connection's thread gets every frame`() async throws {
        let client = try PeerSocket.connected(to: server.path)
        let connection = try #require(try await firstConnection(of: server))
        let sent = (0..<200).map { body($0, count: 30_000) }
        async let sending: Void = {
            try await client.write(sent.flatMap { message($0) })
            client.finishWriting()
        }()
        let task = Task(executorPreference: connection.thread) {
            var received: [[UInt8]] = []
            for try await frame in connection.frames {
                #expect(connection.thread.isCurrent)
                received.append(frame.bytes)
            }
            return received
        }
        #expect(try await task.value == sent)
        try await sending
    }
}
