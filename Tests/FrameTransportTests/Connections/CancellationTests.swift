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

    /// Shows P200.
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

    /// Shows P200.
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
}
