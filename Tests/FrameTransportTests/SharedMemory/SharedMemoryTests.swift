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

        /// Shows P107.
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

        // MARK: Beside other messages

        /// Shows P260.
        @Test func `a server that did not ask for shared memory takes no descriptor, and skips the messages`() async {
            await #expect(processExitsWith: .success) {
                let directory = try TemporaryDirectory()
                let server = try directory.server { $0.hello = ControlRequest.Hello() }
                let sender = try SharedSender(to: directory.socket)
                let connection = try #require(try await firstConnection(of: server))
                #expect(try await sender.hello() == nil)
                let memory = try SealedMemory()
                let before = (descriptors: try await descriptorsAtStart(), mappings: sharedMappings())
                for round in 0..<50 {
                    try await sender.announce(memory)
                    try await sender.send()
                    let bytes = message(body(round, count: 3000))
                    // All of it is there before the server reads, and each read ends where descriptors were passed.
                    try await IOThread.shared.whileHeld {
                        for part in [bytes[..<50], bytes[50..<1000], bytes[1000...]] {
                            let passed = [memory.descriptor, sender.socket.descriptor]
                            try await sender.socket.write(Array(part), passing: passed)
                        }
                    }
                    #expect(try await connection.nextBytes() == body(round, count: 3000))
                }
                #expect(sharedMappings() == before.mappings)
                #expect(await becomesTrue { descriptorsAdded(to: before.descriptors).isEmpty })
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
            #expect(try await connection.nextBytes() == body(1, count: 100))
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
