#if os(Linux)
    import FrameSocketTesting
    import FrameWire
    import Glibc
    import TestSupport
    import Testing

    @testable import FrameTransport

    /// Shared memory where the system, the budget or the program has no room for it, and beside everything else.
    ///
    /// Tests that compare descriptors and mappings have a process to themselves.
    @Suite(.timeLimit(.minutes(5))) struct SharedMemoryTests {
        // MARK: No room

        /// Shows P265.
        @Test func `without a free descriptor shared memory is declined, and the connection continues`() async {
            await #expect(processExitsWith: .success) {
                try await SharedCase("no descriptor is free", .delivers(2)) { sender in
                    let memory = try SealedMemory()
                    try await withoutDescriptors {
                        try await sender.announce(memory)
                        try await sender.send()
                        try await sender.request("decline")
                        try await sender.sendJPEG()
                        // Nor is this a reason to end it.
                        try await sender.announce(memory)
                        try await sender.sendJPEG()
                    }
                }.run()
            }
        }

        /// Shows P265.
        @Test func `without address space shared memory is declined, and the connection continues`() async {
            await #expect(processExitsWith: .success) {
                try await SharedCase("no address space is free", .delivers(1)) { sender in
                    let memory = try SealedMemory(30 << 20)
                    try await withoutMemory(beyond: 24 << 20) {
                        try await sender.announce(memory)
                        try await sender.send()
                        try await sender.request("decline")
                        try await sender.sendJPEG()
                    }
                }.run()
            }
        }

        /// Shows P270.
        @Test func `a sender that shares all the memory for large bodies delays no other sender's`() async {
            await #expect(processExitsWith: .success) {
                let directory = try TemporaryDirectory()
                let budget = FrameServer.MemoryBudget(maximumBytes: 4 << 20)
                let server = try directory.server {
                    $0.acceptsSharedMemory = true
                    $0.memory = budget
                }
                let hostile = try SharedSender(to: directory.socket)
                let connection = try #require(try await firstConnection(of: server))
                try await hostile.announce(SealedMemory(2 << 20))
                try await hostile.send()
                var hostileFrames = connection.frames.makeAsyncIterator()
                let kept = try #require(try await hostileFrames.next())
                #expect(budget.free == 2 << 20 && budget.mappedBytes == 2 << 20)

                let innocent = try PeerSocket.connected(to: directory.socket)
                let received = try #require(try await firstConnection(of: server))
                var frames = received.frames.makeAsyncIterator()
                async let writing: Void = innocent.write(message(body(1, count: 2 << 20)))
                #expect(try await frames.next()?.jpeg?.count == 2 << 20)
                try await writing
                // There is no room for further memory: its connection falls back to JPEGs.
                try await hostile.announce(SealedMemory(1 << 20), as: 1)
                try await hostile.request("decline")
                try await hostile.sendJPEG()
                #expect(try await hostileFrames.next()?.jpeg?.count == 300)
                #expect(kept.shared?.withPlane(0) { bytes, _ in bytes[0] } == 0)
                #expect(await becomesTrue { budget.free == 2 << 20 && budget.mappedBytes == 0 })
            }
        }

        // MARK: The program

        /// Shows P263.
        @Test func `a program that keeps every frame gets JPEGs, and each release when it lets go`() async throws {
            let directory = try TemporaryDirectory()
            let server = try directory.server { $0.acceptsSharedMemory = true }
            let sender = try SharedSender(to: directory.socket)
            let connection = try #require(try await firstConnection(of: server))
            _ = try await sender.hello()
            var frames = connection.frames.makeAsyncIterator()
            var kept: [Frame] = []
            for index in 0..<8 {
                let memory = try SealedMemory()
                memory.fill(UInt8(index))
                try await sender.announce(memory, as: index)
                try await sender.send(in: index)
                kept.append(try #require(try await frames.next()))
            }
            try await sender.sendJPEG()
            #expect(try await frames.next()?.shared == nil)
            #expect(sender.socket.isQuiet)
            #expect(kept.map(\.sharedByte) == (0..<8).map { UInt8($0) })
            for index in [3, 0, 7] {
                // A copy keeps it as well.
                let copy = kept[index]
                kept[index] = kept[1]
                #expect(copy.sharedByte == UInt8(index))
                withExtendedLifetime(copy) {}
            }
            var released: Set<String> = []
            for _ in 0..<3 { released.insert(try await sender.request("release").field("Shared-Buffer") ?? "") }
            #expect(released == ["0", "3", "7"])
            withExtendedLifetime(server) {}
        }

        /// Shows P269.
        @Test func `a frame that is kept outlives its connection, its server and their thread`() async {
            await #expect(processExitsWith: .success) {
                let directory = try TemporaryDirectory()
                // Every configuration begins with it.
                await IOThread.shared.settle()
                let before = (descriptors: try await descriptorsAtStart(), mappings: sharedMappings())
                let budget = FrameServer.MemoryBudget(maximumBytes: 64 << 20)
                weak var thread: IOThread?
                var kept: Frame?
                do {
                    let own = IOThread()
                    thread = own
                    let server = try directory.server {
                        $0.acceptsSharedMemory = true
                        $0.memory = budget
                        $0.thread = own
                    }
                    let sender = try SharedSender(to: directory.socket)
                    let connection = try #require(try await firstConnection(of: server))
                    let memory = try SealedMemory()
                    memory.fill(7)
                    try await sender.announce(memory)
                    try await sender.send()
                    var frames = connection.frames.makeAsyncIterator()
                    kept = try await frames.next()
                    sender.socket.close()
                    #expect(try await frames.next() == nil)
                    server.close()
                    try await server.closed()
                }
                #expect(await becomesTrue { thread == nil }, "the frame keeps the thread")
                // What is kept is the program's, and counts no longer.
                #expect(kept?.sharedByte == 7 && budget.free == 32 << 20, "\(budget.free) bytes are free")
                #expect(sharedMappings() == before.mappings + 1, "\(sharedMappings()) mappings")
                withExtendedLifetime(kept) {}
                kept = nil
                #expect(sharedMappings() == before.mappings, "\(sharedMappings()) mappings")
                #expect(
                    await becomesTrue { descriptorsAdded(to: before.descriptors).isEmpty },
                    "left: \(descriptorsAdded(to: before.descriptors))"
                )
            }
        }

        @Test func `shared frames that nobody took end with their connection`() async {
            await #expect(processExitsWith: .success) {
                try await SharedCase("frames that nobody took", .delivers(1)) { sender in
                    for index in 0..<4 { try await sender.announce(SealedMemory(1 << 20), as: index) }
                    try await sender.send()
                }.run()
            }
        }

        // MARK: Beside other messages

        /// Shows P267.
        @Test func `frames of both kinds, audio and statuses come in their order`() async throws {
            let directory = try TemporaryDirectory()
            let server = try directory.server {
                $0.acceptsSharedMemory = true
                $0.hello = ControlRequest.Hello(wants: [.frames, .audio])
            }
            let sender = try SharedSender(to: directory.socket)
            let connection = try #require(try await firstConnection(of: server))
            #expect(try await sender.hello() == "1")
            let fields = "Message-Type: audio\r\nAudio-Kind: app\r\nAudio-Sample-Rate: 44100\r\nAudio-Channels: 1\r\n"
            let audio = Array("HTTP/1.1 200 OK\r\nContent-Length: 3000\r\n\(fields)\r\n".utf8) + body(5, count: 3000)
            let status = SenderStatus(state: .live).encoded()
            let memories = try (0..<3).map { _ in try SealedMemory() }
            // All of it is there before the server reads, so that reads end anywhere within it.
            try await IOThread.shared.whileHeld {
                for (index, memory) in memories.enumerated() {
                    memory.fill(UInt8(index))
                    try await sender.socket.write(audio + status)
                    try await sender.announce(memory, as: index)
                    let frame = SharedSender.frame(index, sequence: UInt64(2 * index))
                    try await sender.socket.write(audio + frame + status)
                    let jpeg = PeerMessage.frame(
                        body(index, count: 700),
                        width: 5,
                        height: 5,
                        sequence: UInt64(2 * index + 1)
                    )
                    try await sender.socket.write(jpeg.bytes)
                }
            }
            var frames = connection.frames.makeAsyncIterator()
            for index in 0..<3 {
                let (shared, jpeg) = (try await frames.next(), try await frames.next())
                #expect(shared?.sharedByte == UInt8(index) && shared?.jpeg == nil)
                #expect(shared?.sequence == UInt64(2 * index) && shared?.index == 2 * index)
                #expect(jpeg?.jpeg?.array() == body(index, count: 700) && jpeg?.shared == nil)
                #expect(jpeg?.sequence == UInt64(2 * index + 1) && jpeg?.index == 2 * index + 1)
            }
            var sounds = connection.audio.makeAsyncIterator()
            for _ in 0..<6 { #expect(await sounds.next()?.bytes.array() == body(5, count: 3000)) }
            withExtendedLifetime(server) {}
        }

        @Test func `a server that accepts shared memory serves a plain sender that never reads`() async throws {
            let directory = try TemporaryDirectory()
            let server = try directory.server { $0.acceptsSharedMemory = true }
            let sender = try PeerSocket.connected(to: directory.socket)
            let connection = try #require(try await firstConnection(of: server))
            for seed in 0..<20 { try await sender.write(message(body(seed, count: 5000))) }
            sender.close()
            var seed = 0
            for try await frame in connection.frames {
                #expect(frame.jpeg?.array() == body(seed, count: 5000))
                seed += 1
            }
            #expect(seed == 20)
            #expect(try await connection.closed() == .closedByPeer(.stoppedByUser))
        }

        /// Shows P260.
        @Test func `a server that did not ask for shared memory takes no descriptor, and skips the messages`() async {
            await #expect(processExitsWith: .success) {
                let directory = try TemporaryDirectory()
                let server = try directory.server { $0.hello = ControlRequest.Hello() }
                let sender = try SharedSender(to: directory.socket)
                let connection = try #require(try await firstConnection(of: server))
                #expect(try await sender.hello() == nil)
                let memory = try SealedMemory()
                var frames = connection.frames.makeAsyncIterator()
                let before = (descriptors: try await descriptorsAtStart(), mappings: sharedMappings())
                for round in 0..<50 {
                    try await sender.announce(memory)
                    try await sender.send()
                    try await sender.socket.write(
                        message(body(round, count: 100)),
                        passing: [memory.descriptor, memory.descriptor]
                    )
                    #expect(try await frames.next()?.jpeg?.array() == body(round, count: 100))
                }
                #expect(sharedMappings() == before.mappings)
                #expect(await becomesTrue { descriptorsAdded(to: before.descriptors).isEmpty })
                withExtendedLifetime(server) {}
            }
        }

        @Test func `shared memory follows the token, also of a sender beside one that passed descriptors with it`()
            async
        {
            await #expect(processExitsWith: .success) {
                let directory = try TemporaryDirectory()
                let server = try directory.server {
                    $0.acceptsSharedMemory = true
                    $0.tokens = HandshakeTokens(own: [1], expected: [2, 3])
                }
                let memory = try SealedMemory()
                let before = try await descriptorsAtStart()
                do {
                    let other = try PeerSocket.connected(to: directory.socket)
                    try await other.write([2], passing: [memory.descriptor, memory.descriptor])
                    #expect(try await other.read(1).isEmpty)
                    let sender = try SharedSender(to: directory.socket)
                    try await sender.socket.write([2, 3])
                    #expect(try await sender.socket.read(1) == [1])
                    #expect(try await sender.hello() == "1")
                    let connection = try #require(try await firstConnection(of: server))
                    try await sender.announce(memory)
                    try await sender.send()
                    var frames = connection.frames.makeAsyncIterator()
                    #expect(try await frames.next()?.sharedByte == 0)
                }
                #expect(await becomesTrue { descriptorsAdded(to: before).isEmpty })
                withExtendedLifetime(server) {}
            }
        }

        /// Shows P260.
        @Test func `a port neither offers shared memory nor takes it`() async throws {
            var configuration = FrameServer.Configuration()
            configuration.acceptsSharedMemory = true
            configuration.tokens = HandshakeTokens(own: [1], expected: [2])
            configuration.hello = ControlRequest.Hello()
            let server = try FrameServer(at: .loopback(port: 0), configuration: configuration)
            guard case .loopback(let port) = server.endpoint else {
                Issue.record("it has no port")
                return
            }
            let sender = try PeerSocket.connected(to: .loopback(port: port))
            try await sender.write([2] + SharedSender.announcement() + SharedSender.frame())
            try await sender.write(message(body(1, count: 100)))
            let connection = try #require(try await firstConnection(of: server))
            var frames = connection.frames.makeAsyncIterator()
            #expect(try await frames.next()?.jpeg?.array() == body(1, count: 100))
            #expect(try await sender.read(1) == [1])
            let hello = try await sender.nextMessage()
            #expect(hello?.requestName == "hello" && hello?.field("Shared-Memory") == nil)
        }

        @Test func `a socket that passes on credentials too takes descriptors, and leaks none`() async {
            await #expect(processExitsWith: .success) {
                let directory = try TemporaryDirectory()
                let manager = try PeerSocket.listening(at: directory.socket)
                // SO_PASSCRED, SO_PASSSEC and SO_PASSPIDFD, as a service manager may set them.
                for option in [16, 34, 76] as [Int32] {
                    var one: Int32 = 1
                    _ = unsafe setsockopt(manager.descriptor, SOL_SOCKET, option, &one, socklen_t(4))
                }
                var configuration = FrameServer.Configuration()
                configuration.acceptsSharedMemory = true
                let inherited = FrameServer.InheritedSocket(descriptor: dup(manager.descriptor), name: nil)
                let server = try FrameServer(inheriting: inherited, configuration: configuration)
                let bystander = try await SharedBystander(directory, server)
                let before = try await descriptorsAtStart()
                for _ in 0..<50 { try await bystander.exchange() }
                #expect(await becomesTrue { descriptorsAdded(to: before).isEmpty }, "\(descriptorsAdded(to: before))")
            }
        }
    }
#endif
