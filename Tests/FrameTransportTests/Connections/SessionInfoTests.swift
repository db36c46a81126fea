import FrameSocketTesting
import FrameTransport
import FrameWire
import TestSupport
import Testing

/// What two programs state about themselves, over a connection.
@Suite struct SessionInfoTests {
    let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    private func info(_ values: [String: String]) throws -> ControlRequest.SessionInfo {
        try ControlRequest.SessionInfo(values)
    }

    private func frame(_ width: Int) -> FrameMessage {
        FrameMessage(
            jpeg: FrameBytes(body(1, count: 300)),
            info: FrameInfo(bufferSize: BufferSize(width: width, height: 8))
        )
    }

    /// Shows P326, P329.
    @Test func `both sides learn what the other one states, before the first frame`() async throws {
        let (host, guest) = (try info(["role": "viewer"]), try info(["channelName": "lobby"]))
        let server = try directory.server { $0.info = host }
        defer { server.close() }
        let sender = directory.connection { $0.info = guest }
        defer { sender.close() }
        var senders = sender.infos.makeAsyncIterator()
        #expect(await senders.next() == ControlRequest.SessionInfo() && sender.info.values.isEmpty)
        try await sender.open(within: Patience.length)
        let receiver = try #require(try await firstConnection(of: server))
        #expect(await senders.next() == host && sender.info == host)
        // It states nothing a second time.
        receiver.send(.info(try info(["role": "another"])))
        try await sender.send(frame(16))
        var stated = guest
        stated.size = BufferSize(width: 16, height: 8)
        var frames = receiver.frames.makeAsyncIterator()
        #expect(try await frames.next()?.bufferSize == stated.size)
        // Before the frame, so that whoever has the frame knows it.
        #expect(receiver.info == stated)
        receiver.close()
        // What a receiver stated ends with its connection.
        #expect(await senders.next() == ControlRequest.SessionInfo())
    }

    /// Shows P330.
    @Test func `a later info of a sender replaces the one before, and a wrong one ends the connection`() async throws {
        let server = try directory.server { $0.hello = ControlRequest.Hello() }
        defer { server.close() }
        let peer = try PeerSocket.connected(to: directory.socket)
        let receiver = try #require(try await firstConnection(of: server))
        let header = "HTTP/1.1 200 OK\r\nMessage-Type: info\r\nContent-Length: 4\r\n\r\n"
        try await peer.write(Array((header + "b=0\n" + header + "a=1\n" + header + "b=\r\n").utf8))
        let reason = try await receiver.closed()
        #expect(reason.error?.wireError?.code == .infoInvalid && receiver.info.values == ["a": "1"])
    }
}
