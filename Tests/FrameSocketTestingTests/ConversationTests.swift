import FrameSocket
import FrameSocketTesting
import TestSupport
import Testing

/// Peers that converse with the two ends of the library.
@Suite(.timeLimit(.minutes(5))) struct ConversationTests {
    let place: TemporaryDirectory

    init() throws {
        place = try TemporaryDirectory()
    }

    @Test(arguments: RecordedStream.all)
    func `the server handles a recorded stream as described`(stream: RecordedStream) async throws {
        let server = try FrameServer(at: place.socket)
        let sender = try PeerSocket.connected(to: place.socket)
        async let writing: Void = {
            try await sender.write(stream.bytes)
            sender.finishWriting()
        }()
        var connections = server.connections.makeAsyncIterator()
        let connection = try #require(try await connections.next())
        var bodies: [[UInt8]] = []
        do throws(TransportError) {
            for try await frame in connection.frames { bodies.append(frame.jpeg?.array() ?? []) }
        } catch {
            #expect(stream.cut != nil && error.code == .malformedMessage)
        }
        #expect(bodies == stream.bodies)
        #expect((try await connection.closed().error == nil) == (stream.cut == nil))
        try await writing
    }

    @Test func `a sender reads the requests of the program`() async throws {
        let server = try FrameServer(at: place.socket)
        let sender = try PeerSocket.connected(to: place.socket)
        try await sender.write(PeerMessage.frame([UInt8](repeating: 9, count: 500), width: 562, height: 1218).bytes)
        var connections = server.connections.makeAsyncIterator()
        let connection = try #require(try await connections.next())
        connection.send(.hello(ControlRequest.Hello(wants: .frames)))
        connection.send(.pause)
        #expect(try await sender.nextMessage()?.requestName == "hello")
        #expect(try await sender.nextMessage()?.requestName == "pause")
    }

    @Test func `a receiver says hello, and gets a status and a frame`() async throws {
        let listener = try PeerSocket.listening(at: place.socket)
        let sender = SocketConnection(path: place.socket)
        try await sender.open(within: .seconds(60))
        let receiver = try await listener.accepted()
        let hello = PeerMessage.request("hello", [("Control-Version", "1"), ("Wants-Pictures", "1")])
        try await receiver.write(hello.bytes)
        #expect(try await receiver.nextMessage()?.state == "live")
        let jpeg = [UInt8](repeating: 7, count: 30_000)
        let info = FrameInfo(bufferSize: BufferSize(width: 562, height: 1218))
        try await sender.send(FrameMessage(jpeg: FrameBytes(jpeg), info: info))
        let frame = try #require(try await receiver.nextMessage())
        #expect(frame.isFrame && frame.body == jpeg && frame.width == 562)
        try await receiver.write(PeerMessage.request("stop", [("Finish-Reason", "10006")]).bytes)
        #expect(try await receiver.messages().map { $0.field("finish-reason") } == ["10006"])
        #expect(try await sender.closed() == .closedByPeer(.callEnded))
    }
}
