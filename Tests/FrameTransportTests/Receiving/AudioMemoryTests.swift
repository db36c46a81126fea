import FrameSocketTesting
import FrameTransport
import FrameWire
import TestDescriptions
import TestSupport
import Testing

/// Audio is received by those who asked for it alone, counts against the memory budget, and needs no frame to be consumed.
@Suite(.timeLimit(.minutes(5))) struct AudioMemoryTests {
    let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    private func audio(_ seed: Int, count: Int = 1024) -> [UInt8] {
        AudioHeader(contentLength: count, kind: .app, sampleRate: 44_100, channels: 1, sequence: UInt64(seed)).encoded()
            + body(seed, count: count)
    }

    /// Shows P102.
    @Test(arguments: [nil, ControlRequest.Hello(wants: .frames), ControlRequest.Hello(wants: [])])
    func `audio that nobody asked for is skipped by its length and takes no memory`(hello: ControlRequest.Hello?)
        async throws
    {
        let pool = FrameBytes.Pool(maximumIdleBytes: 1 << 20)
        let server = try directory.server {
            $0.hello = hello
            $0.pool = pool
        }
        let sender = try PeerSocket.connected(to: directory.socket)
        let connection = try #require(try await firstConnection(of: server))
        let wantsFrames = hello?.wants.contains(.frames) ?? true
        for seed in 0..<40 { try await sender.write(audio(seed, count: 200_000)) }
        try await sender.write(message(body(1, count: 300)))
        sender.finishWriting()
        var frames = connection.frames.makeAsyncIterator()
        if wantsFrames { #expect(try await frames.next()?.jpeg?.array() == body(1, count: 300)) }
        #expect(try await soon { try await connection.closed() } == .closedByPeer(.stoppedByUser))
        connection.close()
        var count = 0
        for await _ in connection.audio { count += 1 }
        #expect(count == 0 && connection.statistics.supersededAudio == 0)
        // One piece for the frame, and one into which what is skipped is read.
        #expect(pool.allocations <= 2, "memory was taken \(pool.allocations) times")
        withExtendedLifetime(server) {}
    }

    /// Shows P185.
    @Test(.tooSlow(for: .brief))
    func `audio that waits for its consumers stays within the budget of all connections`() async throws {
        // Enough that each connection may keep one of the largest messages, and not all of them together.
        let budget = FrameServer.MemoryBudget(maximumBytes: 32 << 20)
        let server = try directory.server {
            $0.hello = ControlRequest.Hello(wants: .audio)
            $0.memory = budget
            $0.limits.maximumConnections = 4
        }
        var connections: [FrameConnection] = []
        for _ in 0..<4 {
            let sender = try PeerSocket.connected(to: directory.socket)
            connections.append(try #require(try await firstConnection(of: server)))
            let isWritten: Void? = try await soon {
                for seed in 0..<64 { try await sender.write(audio(seed, count: 256 << 10)) }
            }
            #expect(isWritten != nil, "a sender whose audio nobody consumes is held up")
            sender.close()
            await server.settle()
        }
        // Nobody has consumed anything: what there is now was held all the time.
        var held = 0
        for connection in connections {
            connection.close()
            var last: UInt64?
            for await message in connection.audio {
                held += message.bytes.count
                #expect(message.bytes.array() == body(Int(message.sequence ?? 0), count: 256 << 10))
                #expect(last ?? 0 <= message.sequence ?? 0)
                last = message.sequence
            }
            // The oldest give way.
            #expect(last == 63)
        }
        #expect(held <= budget.maximumBytes, "\(held) bytes of audio were held")
    }

    // A server with one place could use all of the memory for bodies of the usual size.
    /// Shows P298.
    @Test(arguments: [1, 2, 64])
    func `connections of several servers that share a budget have room for audio and frames`(places: Int) async throws {
        let budget = FrameServer.MemoryBudget(maximumBytes: 8 << 20)
        var kept: [(FrameServer, PeerSocket, FrameConnection)] = []
        for _ in 0..<4 {
            let directory = try TemporaryDirectory()
            let server = try directory.server {
                $0.hello = ControlRequest.Hello(wants: [.frames, .audio])
                $0.memory = budget
                $0.limits.maximumConnections = places
            }
            let sender = try PeerSocket.connected(to: directory.socket)
            let connection = try #require(try await firstConnection(of: server))
            kept.append((server, sender, connection))
            var frames = connection.frames.makeAsyncIterator()
            for seed in 0..<3 {
                try await sender.write(audio(seed) + message(body(seed, count: 10_000)))
                let received = try await soon {
                    var messages = connection.audio.makeAsyncIterator()
                    return await messages.next()?.sequence
                }
                #expect(received == UInt64(seed))
                #expect(try await frames.next()?.jpeg?.array() == body(seed, count: 10_000))
            }
        }
        withExtendedLifetime(kept) {}
    }

    @Test func `audio that exceeds the memory is counted`() async throws {
        // An eighth of a connection's part is less than a message needs.
        let server = try directory.server {
            $0.hello = ControlRequest.Hello(wants: .audio)
            $0.memory = FrameServer.MemoryBudget(maximumBytes: 2 << 20)
            $0.limits.maximumConnections = 4
        }
        let sender = try PeerSocket.connected(to: directory.socket)
        let connection = try #require(try await firstConnection(of: server))
        for seed in 0..<10 { try await sender.write(audio(seed, count: 100_000)) }
        sender.finishWriting()
        #expect(try await soon { try await connection.closed() } == .closedByPeer(.stoppedByUser))
        connection.close()
        var count = 0
        for await _ in connection.audio { count += 1 }
        #expect(count + connection.statistics.supersededAudio == 10)
        withExtendedLifetime(server) {}
    }

    /// Shows P103.
    @Test(arguments: [1, 2, 10])
    func `a host that takes only audio is not held up by frames`(frames: Int) async throws {
        let server = try directory.server { $0.hello = ControlRequest.Hello(wants: .audio) }
        let sender = try PeerSocket.connected(to: directory.socket)
        let connection = try #require(try await firstConnection(of: server))
        // A sender may not have read the hello yet, or obey none.
        async let writing: Void = sender.write(
            (0..<frames).flatMap { message(body($0, count: 30_000)) } + (0..<5).flatMap { audio($0) }
        )
        let received = try await soon {
            var received: [[UInt8]] = []
            for await message in connection.audio {
                received.append(message.bytes.array())
                if received.count == 5 { break }
            }
            return received
        }
        #expect(received == (0..<5).map { body($0, count: 1024) })
        connection.close()
        server.close()
        try? await writing
    }

    @Test func `a host that asked only for audio is told of an end after frames that nobody consumes`() async throws {
        let server = try directory.server { $0.hello = ControlRequest.Hello(wants: .audio) }
        let sender = try PeerSocket.connected(to: directory.socket)
        let connection = try #require(try await firstConnection(of: server))
        try await sender.write((0..<5).flatMap { message(body($0, count: 3000)) } + audio(1))
        sender.finishWriting()
        #expect(try await soon { try await connection.closed() } == .closedByPeer(.stoppedByUser))
        connection.close()
        var audio = connection.audio.makeAsyncIterator()
        #expect(await audio.next()?.bytes.array() == body(1, count: 1024))
        withExtendedLifetime(server) {}
    }
}
