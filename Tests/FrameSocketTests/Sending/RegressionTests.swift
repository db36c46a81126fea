import Foundation
import FrameSocket
import FrameSocketTesting
import TestSupport
import Testing

/// What the code that this protocol comes from gets wrong: one test for each of its faults, a to i.
@Suite(.timeLimit(.minutes(5))) struct RegressionTests {
    let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    private static let size = BufferSize(width: 562, height: 1218)

    @Test(arguments: [true, false])
    func `a: frames under 10,240 bytes back to back do not freeze an existing Jitsi receiver`(
        isPadded: Bool
    ) async throws {
        let (connection, server, peer) = try await directory.openConnection { $0.padsShortBodies = isPadded }
        let bodies = (0..<12).map { body($0, count: 200 + 700 * $0) }
        // All of them are there before the first read.
        for body in bodies { try await connection.send(FrameMessage(body)) }
        connection.close()
        var receiver = DeployedReceiver()
        while case let bytes = try await peer.readSome(upTo: receiver.readLimit), !bytes.isEmpty {
            receiver.append(bytes)
        }
        if isPadded {
            #expect(receiver.bodies == bodies.map { $0 + [UInt8](repeating: 0, count: 10_240 - $0.count) })
        } else {
            // The fault is there, and it is what padding is for.
            #expect(receiver.bodies.count < bodies.count)
        }
        _ = server
    }

    @Test func `a: a thousand frames under 10,240 bytes back to back do not freeze the receiver of this package`()
        async throws
    {
        let server = try directory.server()
        let client = try PeerSocket.connected(to: directory.socket)
        let connection = try #require(try await firstConnection(of: server))
        var random = SplitMix(seed: 3)
        let bodies = (0..<1000).map { body($0, count: Int.random(in: 200...9000, using: &random)) }
        async let sending: Void = {
            try await client.write(bodies.flatMap { message($0) })
            client.finishWriting()
        }()
        var received: [[UInt8]] = []
        for try await frame in connection.frames { received.append(frame.bytes) }
        try await sending
        #expect(received == bodies)
    }

    @Test func `b: a failed encode does not keep later frames from being sent`() async throws {
        let server = try directory.server()
        let connection = directory.connection()
        try await connection.open(within: nil)
        let received = try #require(try await firstConnection(of: server))
        let uploader = SampleUploader(connection: connection, configuration: .init(scale: .half))
        let whole = try JPEGEncoder(quality: 80).encode(testImage(64, 48))
        // Its size can be read, but not its image.
        let bad = FrameBytes(Array(whole[..<(whole.count / 2)]))
        for _ in 0..<100 { uploader.send(resizing: bad) }
        await #expect(throws: TransportError.self) { try await uploader.finish() }
        #expect(uploader.statistics.drops[.encodingFailed, default: 0] > 0 && uploader.statistics.sent == 0)
        #expect(uploader.send(jpeg: FrameBytes(body(1, count: 300)), bufferSize: Self.size) == .taken)
        var frames = received.frames.makeAsyncIterator()
        #expect(try await frames.next()?.sequence == 100)
    }

    /// Shows P3.
    @Test func `c: messages of several threads never mix, and a failed write is no success`() async throws {
        let server = try directory.server()
        let connection = directory.connection { $0.reopens = false }
        try await connection.open(within: nil)
        let received = try #require(try await firstConnection(of: server))
        let bodies = (0..<8).map { body($0, count: 100_000 + 30_000 * $0) }
        let receiving = Task {
            var count = 0
            for try await frame in received.frames {
                #expect(bodies.contains { Data($0) == Data(frame.bytes) })
                count += 1
            }
            return count
        }
        let sent = Counter()
        await withTaskGroup { group in
            for body in bodies {
                group.addTask {
                    for _ in 0..<30 {
                        do throws(TransportError) {
                            try await connection.send(FrameMessage(body))
                            sent.increment()
                        } catch {
                            #expect(error.code == .busy)
                            await Task.yield()
                        }
                    }
                }
            }
        }
        connection.close()
        #expect(try await receiving.value == sent.value)

        let elsewhere = try TemporaryDirectory()
        let listener = try PeerSocket.listening(at: elsewhere.socket)
        let other = elsewhere.connection { $0.reopens = false }
        try await other.open(within: nil)
        let peer = try await listener.accepted()
        let sending = Task { try await other.send(FrameMessage(body(1, count: 30_000_000))) }
        _ = try await peer.read(1000)
        peer.close()
        let error = await #expect(throws: TransportError.self) { try await sending.value }
        #expect(error?.code == .connectionLost)
    }

    @Test func `d: the address is complete, and a path is measured in bytes and never truncated`() async throws {
        let room = 107 - directory.path.utf8.count - 1
        let longest =
            directory.path + "/" + String(repeating: "é", count: room / 2) + String(repeating: "x", count: room % 2)
        let server = try FrameServer(at: longest)
        let connection = SocketConnection(path: longest)
        try await connection.open(within: nil)
        #expect(try await firstConnection(of: server) != nil)

        // Fewer than 107 characters, and more bytes; where it is cut a live server stands.
        let tooLong = longest + "é"
        #expect(tooLong.count < 107)
        #expect(#expect(throws: TransportError.self) { try FrameServer(at: tooLong) }?.code == .pathTooLong)
        let error = await #expect(throws: TransportError.self) {
            try await SocketConnection(path: tooLong).open(within: nil)
        }
        #expect(error?.code == .pathTooLong)
    }

    @Test func `e: a connection opens again, and a connection closed during an attempt stops trying`() async throws {
        let (connection, server, first) = try await directory.openConnection()
        var milestones = connection.milestones()
        for round in 0..<3 {
            #expect(await milestones.next() == .connected)
            let peer = round == 0 ? first : try await server.accepted()
            try await connection.send(FrameMessage(body(round, count: 20_000)))
            #expect(
                try await peer.read(message(body(round, count: 20_000)).count) == message(body(round, count: 20_000))
            )
            peer.close()
            #expect(await milestones.next() == .disconnected(.closedByPeer(.stoppedByUser)))
        }
        connection.close()

        let elsewhere = try TemporaryDirectory()
        let stopped = elsewhere.connection()
        stopped.open()
        await stopped.thread.settle()
        stopped.close()
        #expect(try await stopped.closed() == .closedLocally(.stoppedByUser))
        let listener = try PeerSocket.listening(at: elsewhere.socket)
        // One that begins later and tries as often comes through many times before this says that the first did not.
        for _ in 0..<5 {
            let other = elsewhere.connection { $0.reopens = false }
            try await other.open(within: nil)
            _ = try await listener.accepted()
            other.close()
        }
        #expect(listener.isQuiet)
    }

    @Test func `f: a body is read in place, and a length beyond the limit allocates no memory`() async throws {
        let pool = FrameBytes.Pool(maximumIdleBytes: 64 << 20)
        let server = try directory.server { $0.pool = pool }
        let client = try PeerSocket.connected(to: directory.socket)
        let connection = try #require(try await firstConnection(of: server))
        let sent = body(1, count: 8 << 20)
        let sending = Task {
            for _ in 0..<3 { try await client.write(message(sent)) }
            try await client.write(
                Array(
                    "HTTP/1.1 200 OK\r\nContent-Length: 4294967296\r\nBuffer-Width: 1\r\nBuffer-Height: 1\r\n".utf8
                )
            )
        }
        var frames = connection.frames.makeAsyncIterator()
        for _ in 0..<3 {
            let frame = try #require(try await frames.next())
            #expect(
                Data(frame.bytes) == Data(sent)
            )
            // Doubled from 64 KiB to 8 MiB for the first; the two others are known to be of that size.
            #expect(pool.allocations <= 8 + 2)
        }
        let before = pool.allocations
        let error = await #expect(throws: TransportError.self) { try await frames.next() }
        #expect(error?.wireError?.code == .contentLengthTooLarge)
        #expect(pool.allocations == before)
        try await sending.value
    }

    @Test func `g: a second sender disturbs nothing, an error is reported as an end, and closing does not hang`()
        async throws
    {
        let server = try directory.server { $0.limits.linger = .milliseconds(20) }
        let first = try PeerSocket.connected(to: directory.socket)
        var connections = server.connections.makeAsyncIterator()
        let firstConnection = try #require(try await connections.next())
        let second = try PeerSocket.connected(to: directory.socket)
        let secondConnection = try #require(try await connections.next())
        for (client, connection) in [(first, firstConnection), (second, secondConnection)] {
            try await client.write(message(body(1, count: 300)))
            var frames = connection.frames.makeAsyncIterator()
            #expect(try await frames.next()?.jpeg?.array() == body(1, count: 300))
        }
        try await second.write([0])
        #expect(try await secondConnection.closed().error?.code == .malformedMessage)
        #expect(firstConnection.closeReason == nil)
        // The first sender neither sends nor closes.
        server.close()
        try await server.closed()
        #expect(try await firstConnection.closed() == .closedLocally(.stoppedByUser))
        #expect(try await connections.next() == nil)
    }

    @Test func `h: an undecodable JPEG is an error and never an image`() async throws {
        let server = try directory.server()
        let client = try PeerSocket.connected(to: directory.socket)
        let connection = try #require(try await firstConnection(of: server))
        let good = try JPEGEncoder().encode(testImage(40, 30))
        let undecodable = [Array(good.prefix(good.count / 2)), body(1, count: 500), [0xFF, 0xD8, 0xFF, 0xD9], [0]]
        async let sending: Void = client.write(
            undecodable.flatMap { message($0, width: 40, height: 30) + message(good, width: 40, height: 30) }
        )
        let decoder = FrameDecoder()
        var frames = connection.frames.makeAsyncIterator()
        for _ in undecodable {
            let bad = try #require(try await frames.next())
            #expect(throws: TurboJPEGError.self) { try decoder.decode(bad) }
            // The connection is kept, and the next image is whole.
            let frame = try #require(try await frames.next())
            #expect(try decoder.decode(frame).image.hasSamePixels(as: JPEGDecoder().decode(bytes: good, as: .bgra)))
        }
        try await sending
    }

    @Test func `i: a server leaves existing files at its path alone, above all a live server's socket`() async throws {
        let server = try directory.server()
        #expect(#expect(throws: TransportError.self) { try directory.server() }?.code == .addressInUse)
        let client = directory.connection()
        try await client.open(within: nil)
        #expect(try await firstConnection(of: server)?.id == 1)

        let elsewhere = try TemporaryDirectory()
        try Data("mine".utf8).write(to: URL(fileURLWithPath: elsewhere.socket))
        #expect(#expect(throws: TransportError.self) { try elsewhere.server() }?.code == .notASocket)
        #expect(try Data(contentsOf: URL(fileURLWithPath: elsewhere.socket)) == Data("mine".utf8))
        #expect(elsewhere.names == ["rtc_SSFD"])
    }
}
