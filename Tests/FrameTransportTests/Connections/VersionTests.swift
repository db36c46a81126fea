import FrameTransport
import FrameWire
import TestSupport
import Testing

/// What becomes of a session whose sides have no version in common that both accept.
@Suite struct VersionTests {
    let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    private func frame(_ seed: Int) -> FrameMessage {
        FrameMessage(
            jpeg: FrameBytes(body(seed, count: 300)),
            info: FrameInfo(bufferSize: BufferSize(width: 8, height: 8))
        )
    }

    /// Shows P331.
    @Test func `a receiver refuses a sender's version, both know why, and no frame is delivered`() async throws {
        let server = try directory.server { $0.minimumVersion = 2 }
        defer { server.close() }
        let sender = directory.connection()
        try await sender.open(within: Patience.length)
        _ = try? await sender.send(frame(1))
        let receiver = try #require(try await firstConnection(of: server))
        var frames = receiver.frames.makeAsyncIterator()
        let error = await #expect(throws: TransportError.self) { try await frames.next() }
        #expect(error?.code == .versionMismatch)
        #expect(try await receiver.closed().finishReason == .versionMismatch)
        #expect(try await sender.closed() == .closedByPeer(.versionMismatch))
    }

    /// Shows P331, P332.
    @Test func `with a version that both accept, every frame arrives`() async throws {
        let server = try directory.server { $0.minimumVersion = 1 }
        defer { server.close() }
        let sender = directory.connection { $0.minimumVersion = 1 }
        defer { sender.close() }
        try await sender.open(within: Patience.length)
        #expect(await becomesTrue { sender.receiver.wants == .frames })
        try await sender.send(frame(1))
        let receiver = try #require(try await firstConnection(of: server))
        var frames = receiver.frames.makeAsyncIterator()
        for seed in 2...4 {
            #expect(try await frames.next()?.bytes.prefix(300) == body(seed - 1, count: 300)[...])
            try await sender.send(frame(seed))
        }
    }

    /// Shows P332.
    @Test func `a sender refuses a receiver's version, both know why, and no frame is sent`() async throws {
        let server = try directory.server { $0.hello = ControlRequest.Hello() }
        defer { server.close() }
        let sender = directory.connection { $0.minimumVersion = 2 }
        try await sender.open(within: Patience.length)
        let receiver = try #require(try await firstConnection(of: server))
        #expect(try await receiver.closed() == .closedByPeer(.versionMismatch))
        let reason = try await sender.closed()
        #expect(reason.finishReason == .versionMismatch && reason.error?.code == .versionMismatch)
        #expect(try await receiver.frames.first { _ in true } == nil)
    }

    /// Shows P332.
    @Test func `a receiver that says no hello is refused`() async throws {
        let server = try directory.server()
        defer { server.close() }
        let sender = directory.connection {
            $0.minimumVersion = 1
            $0.handshakeTimeout = .milliseconds(1)
        }
        try await sender.open(within: Patience.length)
        let reason = try await sender.closed()
        #expect(reason.error?.code == .versionMismatch)
    }
}
