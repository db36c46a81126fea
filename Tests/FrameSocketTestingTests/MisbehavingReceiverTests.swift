import FrameSocket
import FrameSocketTesting
import Testing

/// Receivers that misbehave, and the library's sender.
@Suite(.timeLimit(.minutes(5))) struct MisbehavingReceiverTests {
    let place: Place
    let listener: PeerSocket

    init() throws {
        place = try Place()
        listener = try PeerSocket.listening(at: place.socket)
    }

    private func message(_ count: Int) -> FrameMessage {
        let bytes = [UInt8](repeating: 7, count: count)
        return FrameMessage(
            jpeg: FrameBytes(bytes),
            info: FrameInfo(bufferSize: BufferSize(width: 562, height: 1218))
        )
    }

    @Test func `a receiver says hello, and gets a status and a frame`() async throws {
        let sender = SocketConnection(path: place.socket)
        try await sender.open(within: .seconds(60))
        let receiver = try await listener.accepted()
        let hello = PeerMessage.request("hello", [("Control-Version", "1"), ("Wants-Pictures", "1")])
        try await receiver.write(hello.bytes)
        #expect(try await receiver.nextMessage()?.state == "live")
        try await sender.send(message(30_000))
        let frame = try #require(try await receiver.nextMessage())
        #expect(frame.isFrame && frame.body == [UInt8](repeating: 7, count: 30_000) && frame.width == 562)
        try await receiver.write(PeerMessage.request("stop", [("Finish-Reason", "10006")]).bytes)
        #expect(try await receiver.messages().map { $0.field("finish-reason") } == ["10006"])
        #expect(try await sender.closed() == .closedByPeer(.callEnded))
    }

    @Test func `a receiver that never reads is given up, and the next one gets its frames`() async throws {
        var configuration = SocketConnection.Configuration()
        configuration.sendTimeout = .milliseconds(100)
        configuration.retryInterval = .milliseconds(1)
        let sender = SocketConnection(path: place.socket, configuration: configuration)
        try await sender.open(within: .seconds(60))
        let silent = try await listener.accepted()
        let error = await #expect(throws: TransportError.self) { try await sender.send(message(30_000_000)) }
        #expect(error?.code == .sendTimedOut)
        try await sender.open(within: .seconds(60))
        let next = try await listener.accepted()
        try await sender.send(message(100))
        #expect(try await next.nextMessage()?.isFrame == true)
        sender.close()
        withExtendedLifetime(silent) {}
    }

    @Test func `a receiver that closes with bytes unread breaks the connection by a reset`() async throws {
        let sender = SocketConnection(path: place.socket, configuration: place.once)
        try await sender.open(within: .seconds(60))
        let receiver = try await listener.accepted()
        try await sender.send(message(1000))
        #expect(try await receiver.read(10) == Array("HTTP/1.1 2".utf8))
        receiver.reset()
        let reason = try await sender.closed()
        #expect(reason.error?.code == .connectionLost, "\(reason)")
    }

    @Test func `a receiver that floods the sender with nonsense does not prevent sending`() async throws {
        let sender = SocketConnection(path: place.socket, configuration: place.once)
        try await sender.open(within: .seconds(60))
        let receiver = try await listener.accepted()
        let flooding = Task {
            var count = 0
            do {
                while true {
                    try await receiver.write([UInt8](repeating: UInt8(ascii: "x"), count: 1000))
                    count += 1
                }
            } catch {
                return count
            }
        }
        for _ in 0..<10 { try await sender.send(message(100)) }
        sender.close()
        #expect(await flooding.value > 0)
    }
}
