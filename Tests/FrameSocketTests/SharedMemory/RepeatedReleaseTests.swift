#if os(Linux)
    import FrameSocket
    import FrameSocketTesting
    import TestSupport
    import Testing

    /// What releases mean to a sender that cannot know which frame its receiver has released.
    @Suite struct RepeatedReleaseTests {
        @Test func `a release counts for the last frame that was sent in its buffer, and for none before there is one`()
            async throws
        {
            let receiver = try RawReceiver(.init(sharesMemory: true))
            let uploader = receiver.uploader
            let visit = try await receiver.accept()
            try await visit.ask(.hello(ControlRequest.Hello(wants: .frames, sharedMemory: 1)))
            #expect(try await visit.socket.nextMessage { $0.state != nil } != nil)
            func send(_ value: UInt8) throws {
                var image = try testImage(16, 16, as: .gray)
                try image.fill(value)
                #expect(uploader.send(image) == .taken)
            }
            @Sendable func isShared(_ message: PeerMessage) -> Bool { message.field("Message-Type") == "shared-frame" }

            try send(1)
            #expect(try await visit.socket.nextMessage(where: isShared)?.sequence == 0)
            // The second one is of a buffer that the receiver does not have.
            try await visit.release(0, 0)
            _ = try await visit.framesBeforePong(1)
            try send(2)
            #expect(try await visit.socket.nextMessage(where: isShared)?.sequence == 1)
            for value in [3, 4] as [UInt8] {
                try send(value)
                #expect(try await visit.socket.nextMessage(where: isShared)?.sequence == UInt64(value) - 1)
            }
            // So the next frame waits for a release, whoever wrote more than enough of them before.
            try send(5)
            try await visit.ask(.ping(2))
            let messages = try await visit.socket.messages(until: { $0.pong == 2 })
            #expect(!messages.contains(where: isShared))
            // This one gives away the buffer of the second frame, even if it was meant for the first.
            try await visit.release(0)
            #expect(try await visit.socket.nextMessage(where: isShared)?.sequence == 4)
        }
    }
#endif
