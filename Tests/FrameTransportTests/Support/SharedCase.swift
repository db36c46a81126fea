#if os(Linux)
    import FrameSocketTesting
    import FrameTransport
    import FrameWire
    import TestSupport
    import Testing

    /// Something that a sender does with shared memory, and what becomes of its connection.
    struct SharedCase: Sendable, CustomTestStringConvertible {
        enum Outcome: Sendable {
            /// The error `sharedMemory` with this in its sentence, after so many frames.
            case fails(String, after: Int = 0)
            /// The sender ends, and so many frames have arrived.
            case delivers(Int)
        }

        let testDescription: String
        let outcome: Outcome
        /// Whether the program keeps every frame.
        let keepsFrames: Bool
        let attack: @Sendable (SharedSender) async throws -> Void

        init(
            _ description: String,
            _ outcome: Outcome,
            keepsFrames: Bool = true,
            _ attack: @escaping @Sendable (SharedSender) async throws -> Void
        ) {
            testDescription = description
            (self.outcome, self.keepsFrames, self.attack) = (outcome, keepsFrames, attack)
        }

        /// Runs the case beside an innocent sender, and checks that nothing is left of it.
        func run(_ configure: (inout FrameServer.Configuration) -> Void = { _ in }) async throws {
            let directory = try TemporaryDirectory()
            let budget = FrameServer.MemoryBudget(maximumBytes: 64 << 20)
            let server = try directory.server {
                $0.acceptsSharedMemory = true
                $0.memory = budget
                configure(&$0)
            }
            let bystander = try await SharedBystander(directory, server)
            let before = (descriptors: try await descriptorsAtStart(), mappings: sharedMappings(), free: budget.free)
            // The innocent sender's memory, at both ends.
            #expect(before.mappings == 2)
            try await visit(directory, server, bystander)
            try await bystander.exchange()
            #expect(
                await becomesTrue { sharedMappings() == before.mappings && budget.free == before.free },
                "\(sharedMappings() - before.mappings) mappings and \(before.free - budget.free) bytes are left"
            )
            #expect(
                await becomesTrue { descriptorsAdded(to: before.descriptors).isEmpty },
                "left: \(descriptorsAdded(to: before.descriptors))"
            )
            #expect(server.statistics.refusedConnections == 0)
        }

        private func visit(
            _ directory: TemporaryDirectory,
            _ server: FrameServer,
            _ bystander: SharedBystander
        ) async throws {
            let sender = try SharedSender(to: directory.socket)
            let connection = try #require(try await firstConnection(of: server))
            let version = try await sender.hello()
            #expect(version == "1")
            async let received = receive(from: connection)
            do {
                try await attack(sender)
            } catch let error as PeerError
                where error.underlyingErrno == Errno.brokenPipe.rawValue
                || error.underlyingErrno == Errno.reset.rawValue
            {
                // The server has seen enough.
            }
            try await bystander.exchange()
            sender.socket.finishWriting()
            let (frames, error) = await received
            let reason = try await connection.closed()
            switch outcome {
            case .fails(let sentence, let count):
                #expect(error?.code == .sharedMemory && error?.message.contains(sentence) == true, "\(reason)")
                #expect(frames == count)
            case .delivers(let count):
                #expect(error == nil, "\(reason)")
                #expect(frames == count && reason == .closedByPeer(.stoppedByUser))
            }
            #expect(reason.error == error)
        }

        /// Consumes the frames, and returns how many there were before which error.
        private func receive(from connection: FrameConnection) async -> (frames: Int, error: TransportError?) {
            var (kept, count): ([Frame], Int) = ([], 0)
            do throws(TransportError) {
                for try await frame in connection.frames {
                    count += 1
                    if keepsFrames { kept.append(frame) }
                }
                return (count, nil)
            } catch {
                // What the program has kept can be read whatever has happened.
                #expect(kept.allSatisfy { $0.shared == nil || $0.sharedByte != nil })
                return (count, error)
            }
        }
    }
#endif
