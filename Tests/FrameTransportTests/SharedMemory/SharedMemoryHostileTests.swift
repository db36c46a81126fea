#if os(Linux)
    import FrameSocketTesting
    import FrameTransport
    import FrameWire
    import Glibc
    import TestDescriptions
    import TestSupport
    import Testing

    /// What a sender may do with shared memory to bring a server down, beside an innocent one.
    ///
    /// Each case has a process to itself, whose descriptors and mappings are compared.
    @Suite(.timeLimit(.minutes(10))) struct SharedMemoryHostileTests {
        /// Shows P190, P261.
        @Test(
            .leftOut(of: .faults, because: "it counts the frames that are read before a descriptor"),
            arguments: SharedCase.all.indices
        )
        func `a sender that breaks a rule ends its own connection, and leaves nothing behind`(index: Int) async {
            await #expect(processExitsWith: .success, "\(SharedCase.all[index].testDescription)") { [index] in
                try await SharedCase.all[index].run()
            }
        }

        private static let hasHugePages: Bool = (try? SealedMemory(2 << 20, isWhole: false, hasHugePages: true)) != nil

        @Test(.enabled(if: hasHugePages, "this system has no memory of huge pages"))
        func `memory of huge pages is refused`() async {
            await #expect(processExitsWith: .success) {
                try await SharedCase("memory of huge pages", .fails("consists of huge pages")) {
                    try await $0.announce(SealedMemory(2 << 20, hasHugePages: true))
                }.run()
            }
        }

        /// Shows P95.
        @Test func `a descriptor may come with any byte of its announcement, however that is cut`() async {
            await #expect(processExitsWith: .success) {
                let count = SharedSender.announcement().count
                try await SharedCase("a descriptor with any byte", .delivers(2 * count), keepsFrames: false) { sender in
                    let memory = try SealedMemory()
                    let bytes = SharedSender.announcement()
                    for offset in bytes.indices {
                        let (first, second) = (Array(bytes[..<offset]), Array(bytes[offset...]) + SharedSender.frame())
                        if !first.isEmpty { try await sender.socket.write(first) }
                        await IOThread.shared.settle()
                        try await sender.socket.write(second, passing: [memory.descriptor])
                        try await sender.request("release")
                        // The same in one read, as far as the system lets one read have both.
                        try await IOThread.shared.whileHeld {
                            if !first.isEmpty { try await sender.socket.write(first) }
                            try await sender.socket.write(second, passing: [memory.descriptor])
                        }
                        try await sender.request("release")
                    }
                }.run()
            }
        }

        @Test(arguments: [0, 3], [true, false])
        func `a descriptor with a byte of the token ends the connection, unless none is accepted at all`(
            offset: Int,
            isAccepting: Bool
        ) async throws {
            let directory = try TemporaryDirectory()
            let server = try directory.server {
                $0.acceptsSharedMemory = isAccepting
                $0.tokens = HandshakeTokens(own: [9, 8], expected: [1, 2, 3, 4])
            }
            let memory = try SealedMemory()
            let sender = try PeerSocket.connected(to: directory.socket)
            let token: [UInt8] = [1, 2, 3, 4]
            if offset > 0 { try await sender.write(Array(token[..<offset])) }
            await IOThread.shared.settle()
            try await sender.write(Array(token[offset...]), passing: [memory.descriptor])
            // The system closes what nobody accepts.
            #expect(try await sender.read(2) == (isAccepting ? [] : [9, 8]))
            #expect(await becomesTrue { server.statistics.refusedConnections == (isAccepting ? 1 : 0) })
            // An innocent one is served.
            let other = try PeerSocket.connected(to: directory.socket)
            try await other.write(token)
            #expect(try await other.read(2) == [9, 8])
        }

        /// Shows P262.
        @Test func `reading what a sender is writing gives some bytes, and never a crash`() async {
            await #expect(processExitsWith: .success) {
                let directory = try TemporaryDirectory()
                let server = try directory.server { $0.acceptsSharedMemory = true }
                let sender = try SharedSender(to: directory.socket)
                let connection = try #require(try await firstConnection(of: server))
                let memory = try SealedMemory()
                try await sender.announce(memory)
                try await sender.send()
                var frames = connection.frames.makeAsyncIterator()
                let frame = try #require(try await frames.next())
                let isOver = Flag()
                async let writing: Void = {
                    while !isOver.isSet { for byte in UInt8.min...UInt8.max { memory.fill(byte) } }
                }()
                var sums: Set<Int> = []
                // Until the contents have been seen to change.
                let hasChanged = await becomesTrue {
                    frame.shared?.withPlane(0) { bytes, _ in
                        _ = sums.insert(bytes.indices.reduce(0) { $0 + Int(bytes[$1]) })
                    }
                    return sums.count > 20
                }
                isOver.set()
                await writing
                #expect(hasChanged)
                withExtendedLifetime(server) {}
            }
        }

        /// Shows P262.
        @Test func `a sender of shared memory may end at any byte`() async {
            await #expect(processExitsWith: .success) {
                let directory = try TemporaryDirectory()
                let budget = FrameServer.MemoryBudget(maximumBytes: 64 << 20)
                let server = try directory.server {
                    $0.acceptsSharedMemory = true
                    $0.memory = budget
                }
                let bystander = try await SharedBystander(directory, server)
                let free = budget.free
                let before = (descriptors: try await descriptorsAtStart(), mappings: sharedMappings())
                let announced = SharedSender.announcement() + SharedSender.frame()
                let bytes = announced + message(body(1, count: 20))
                let boundaries = [SharedSender.announcement().count, announced.count, bytes.count]
                for end in 1...bytes.count {
                    let sender = try SharedSender(to: directory.socket)
                    let connection = try #require(try await firstConnection(of: server))
                    let memory = try SealedMemory()
                    _ = try await sender.hello()
                    try await sender.socket.write(Array(bytes[..<end]), passing: [memory.descriptor])
                    sender.socket.close()
                    var kept: [Frame] = []
                    do {
                        for try await frame in connection.frames { kept.append(frame) }
                        #expect(boundaries.contains(end))
                    } catch {
                        let code = (error as? TransportError)?.code
                        #expect(code == .malformedMessage || code == .connectionLost, "\(error)")
                    }
                    let hasFrame = end >= announced.count
                    #expect(kept.count == (hasFrame ? 1 : 0) + (end == bytes.count ? 1 : 0))
                    // It can be read, although its sender and its connection have gone.
                    if hasFrame { #expect(kept.first?.sharedByte == 0) }
                    if end.isMultiple(of: 50) { try await bystander.exchange() }
                }
                try await bystander.exchange()
                #expect(await becomesTrue { sharedMappings() == before.mappings && budget.free == free })
                #expect(await becomesTrue { descriptorsAdded(to: before.descriptors).isEmpty })
            }
        }
    }
#endif
