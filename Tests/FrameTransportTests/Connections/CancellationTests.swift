import FrameSocketTesting
import FrameTransport
import FrameWire
import TestSupport
import Testing

/// A caller whose task is cancelled stops waiting; what others wait for continues.
@Suite(.timeLimit(.minutes(5))) struct CancellationTests {
    let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    /// Cancels what waits in `body`, and expects that it says so soon.
    private func expectCancellation(
        of what: Comment,
        isCancelledFirst: Bool,
        _ body: @escaping @Sendable () async throws -> Void
    ) async throws {
        let task = Task {
            if isCancelledFirst { unsafe withUnsafeCurrentTask { unsafe $0?.cancel() } }
            try await body()
        }
        await IOThread.shared.settle()
        task.cancel()
        let error = try await soon { () async throws -> TransportError? in
            do {
                try await task.value
                return nil
            } catch {
                return error as? TransportError
            }
        }
        #expect(error??.code == .cancelled, what)
    }

    /// Shows P200, P206.
    @Test(arguments: [false, true])
    func `waiting for an end can be cancelled`(isCancelledFirst: Bool) async throws {
        let server = try directory.server()
        let sender = directory.connection()
        try await sender.open(within: nil)
        let receiver = try #require(try await firstConnection(of: server))
        let patient = Task<CloseReason, any Error> { try await receiver.closed() }
        try await expectCancellation(of: "a received connection", isCancelledFirst: isCancelledFirst) {
            _ = try await receiver.closed()
        }
        try await expectCancellation(of: "a sender's connection", isCancelledFirst: isCancelledFirst) {
            _ = try await sender.closed()
        }
        try await expectCancellation(of: "a server", isCancelledFirst: isCancelledFirst) {
            try await server.closed()
        }
        sender.close()
        #expect(try await soon { try await patient.value } == .closedByPeer(.stoppedByUser))
    }

    /// Shows P205.
    @Test(arguments: [false, true])
    func `sending can be cancelled, and leaves no partial frame among whole ones`(isCancelledFirst: Bool)
        async throws
    {
        let listener = try PeerSocket.listening(at: directory.socket)
        let sender = directory.connection()
        try await sender.open(within: nil)
        let host = try await listener.accepted()
        // Nobody reads, and it is more than a socket holds.
        let large = body(1, count: 30_000_000)
        try await expectCancellation(of: "sending", isCancelledFirst: isCancelledFirst) {
            try await sender.send(FrameMessage(large))
        }
        sender.close()
        let messages = try await soon { try await host.messages() }
        // It went out to its end, or never began.
        let bodies = try #require(messages).map(\.body)
        #expect(bodies.isEmpty || bodies.count == 1 && bodies[0] == large)
        #expect(!isCancelledFirst || bodies.isEmpty, "what was cancelled before it began is not sent")
        host.close()
    }

    /// Shows P205.
    @Test func `a frame that waits for audio is withdrawn when its sender is cancelled`() async throws {
        let listener = try PeerSocket.listening(at: directory.socket)
        let sender = directory.connection()
        try await sender.open(within: nil)
        let host = try await listener.accepted()
        try await host.write(ControlRequest.hello(ControlRequest.Hello(wants: [.frames, .audio])).encoded())
        #expect(await becomesTrue { sender.receiver.wants.contains(.audio) })
        let samples = FrameBytes(body(2, count: 256 << 10))
        for _ in 0..<60 {
            #expect(try sender.send(AudioBlock(kind: .app, sampleRate: 44_100, channels: 1, samples: samples)))
        }
        try await expectCancellation(of: "sending", isCancelledFirst: false) {
            try await sender.send(FrameMessage(body(1, count: 20_000)))
        }
        // The place is free again.
        let next = Task { try await sender.send(FrameMessage(body(3, count: 20_000))) }
        let frame = try await soon { try await host.nextMessage(where: \.isFrame) }
        #expect(frame??.body == body(3, count: 20_000))
        #expect(try await soon { try await next.value } != nil)
        sender.close()
        host.close()
    }

    /// Shows P201.
    @Test func `a cancelled consumer leaves the next element to the next consumer`() async throws {
        let server = try directory.server()
        let sender = try PeerSocket.connected(to: directory.socket)
        let connection = try #require(try await firstConnection(of: server))
        for round in 0..<20 {
            let consumer = Task {
                var frames = connection.frames.makeAsyncIterator()
                return try await frames.next()?.jpeg?.array()
            }
            await server.settle()
            consumer.cancel()
            try await sender.write(message(body(round, count: 300)))
            // Cancelled before the frame came, or after: somebody gets it.
            if let taken = try await consumer.value {
                #expect(taken == body(round, count: 300))
            } else {
                var frames = connection.frames.makeAsyncIterator()
                #expect(try await frames.next()?.jpeg?.array() == body(round, count: 300))
            }
        }
    }
}
