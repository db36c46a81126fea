import FrameSocket
import FrameSocketTesting
import Testing

/// Receivers that misbehave, and the library's sender.
@Suite(.timeLimit(.minutes(5))) struct ScriptedReceiverTests {
    let place: Place

    init() throws {
        place = try Place()
    }

    private func message(_ count: Int) -> FrameMessage {
        let bytes = [UInt8](repeating: 7, count: count)
        return FrameMessage(
            jpeg: FrameBytes(copying: bytes.span),
            info: FrameInfo(bufferSize: BufferSize(width: 562, height: 1218))
        )
    }

    @Test func `a receiver says hello, and gets a status and a frame`() async throws {
        let isReady = Cue("hello has been answered")
        let receiver = ScriptedPeer(
            .listen(at: place.socket),
            .accept,
            .write(.request("hello", [(name: "Control-Version", value: "1"), (name: "Wants-Pictures", value: "1")])),
            .expect("a live sender") { $0.state == "live" },
            .give(isReady),
            .expectFrame,
            .write(.request("stop", [(name: "Finish-Reason", value: "10006")])),
            .expect("a stopped sender") { $0.field("finish-reason") == "10006" },
            .readToEnd
        )
        async let transcript = receiver.run()
        let sender = SocketConnection(path: place.socket)
        try await sender.open(within: .seconds(60))
        try await isReady.wait()
        try await sender.send(message(30_000))
        let messages = try await transcript.messages
        #expect(messages.map(\.isFrame) == [false, true, false])
        #expect(messages[1].body == [UInt8](repeating: 7, count: 30_000) && messages[1].width == 562)
        #expect(try await transcript.bytes.isEmpty)
        #expect(try await sender.closed() == .closedByPeer(.callEnded))
    }

    @Test func `a receiver that never reads is given up, and the next one gets its frames`() async throws {
        var configuration = SocketConnection.Configuration()
        configuration.sendTimeout = .milliseconds(100)
        configuration.retryInterval = .milliseconds(1)
        let isOver = Cue("the sender has given up")
        let receiver = ScriptedPeer(
            .listen(at: place.socket),
            .accept,
            .wait(for: isOver),
            .accept,
            .expectFrame
        )
        async let transcript = receiver.run()
        let sender = SocketConnection(path: place.socket, configuration: configuration)
        try await sender.open(within: .seconds(60))
        let error = await #expect(throws: TransportError.self) { try await sender.send(message(30_000_000)) }
        #expect(error?.code == .sendTimedOut)
        isOver.give()
        try await sender.open(within: .seconds(60))
        try await sender.send(message(100))
        #expect(try await transcript.messages.count == 1)
        sender.close()
    }

    @Test func `a receiver that closes with bytes unread breaks the connection by a reset`() async throws {
        let hasSent = Cue("a frame has been sent")
        let receiver = ScriptedPeer(.listen(at: place.socket), .accept, .wait(for: hasSent), .read(10), .reset)
        async let transcript = receiver.run()
        let sender = SocketConnection(path: place.socket, configuration: place.once)
        try await sender.open(within: .seconds(60))
        try await sender.send(message(1000))
        hasSent.give()
        #expect(try await transcript.bytes == Array("HTTP/1.1 2".utf8))
        let reason = try await sender.closed()
        #expect(reason.error?.code == .connectionLost, "\(reason)")
    }

    @Test func `a receiver that floods the sender with nonsense does not prevent sending`() async throws {
        let isOver = Cue("the frames have been sent")
        let nonsense = [UInt8](repeating: UInt8(ascii: "x"), count: 1000)
        let socket = try PeerSocket.listening(at: place.socket)
        let receiver = ScriptedPeer(on: socket, .accept, .flood(nonsense), .waitForEnd)
        async let transcript = receiver.run()
        let sender = SocketConnection(path: place.socket, configuration: place.once)
        try await sender.open(within: .seconds(60))
        for _ in 0..<10 { try await sender.send(message(100)) }
        isOver.give()
        sender.close()
        #expect(try await transcript.floodedBytes > 0)
    }
}
