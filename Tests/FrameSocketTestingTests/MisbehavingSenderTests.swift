import FrameSocket
import FrameSocketTesting
import Testing

/// Senders that misbehave, and the library's server.
@Suite(.timeLimit(.minutes(5))) struct MisbehavingSenderTests {
    let place: Place
    let server: FrameServer

    init() throws {
        place = try Place()
        server = try FrameServer(at: place.socket)
    }

    private static let frame = PeerMessage.frame([UInt8](repeating: 9, count: 500), width: 562, height: 1218)

    /// How a sender ends after two whole frames.
    enum Ending: CaseIterable {
        case close, halfClose, cutInHeader, cutInBody, garbage, flood

        /// What is wrong at the receiver, or nil for a clean end.
        var error: String? {
            switch self {
            case .close, .halfClose: nil
            case .cutInHeader: "head.truncated"
            case .cutInBody: "body.truncated"
            case .garbage, .flood: "startLine.malformed"
            }
        }

        func end(_ sender: PeerSocket, after frame: [UInt8]) async throws {
            switch self {
            case .close: break
            case .halfClose:
                sender.finishWriting()
                _ = try await sender.read(.max)
            case .cutInHeader: try await sender.write(Array(frame.prefix(50)))
            case .cutInBody: try await sender.write(Array(frame.dropLast(100)))
            case .garbage:
                try await sender.write(Array("garbage".utf8))
                _ = try await sender.read(.max)
            case .flood:
                let error = await #expect(throws: PeerError.self) {
                    while true { try await sender.write([UInt8](repeating: 1, count: 4096)) }
                }
                #expect(error?.code == .system)
            }
            sender.close()
        }
    }

    @Test(arguments: Ending.allCases, [1, 7, .max])
    func `two frames arrive however they are cut, followed by the sender's end`(
        ending: Ending,
        chunk: Int
    ) async throws {
        let sender = try PeerSocket.connected(to: place.socket)
        async let sending: Void = {
            for _ in 0..<2 { try await sender.write(Self.frame.bytes, chunk: chunk) }
            try await ending.end(sender, after: Self.frame.bytes)
        }()
        var connections = server.connections.makeAsyncIterator()
        let connection = try #require(try await connections.next())
        var count = 0
        do throws(TransportError) {
            for try await frame in connection.frames where frame.jpeg?.count == 500 { count += 1 }
        } catch {
            // The connection's reason tells.
        }
        try await sending
        #expect(count == 2)
        let reason = try await connection.closed()
        guard let error = ending.error else { return #expect(reason == .closedByPeer(.stoppedByUser)) }
        #expect(reason.error?.wireError?.code.rawValue == error, "\(reason)")
    }

    @Test(arguments: RecordedStream.all)
    func `the server handles a recorded stream as described`(stream: RecordedStream) async throws {
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

    @Test func `a stalling sender is ended by the limit, and sees the end without reading`() async throws {
        server.close()
        var configuration = FrameServer.Configuration()
        configuration.limits.bodyTimeout = .milliseconds(50)
        configuration.limits.minimumBodyBytesPerSecond = 1 << 40
        let patient = try FrameServer(at: place.path + "/limits", configuration: configuration)
        let sender = try PeerSocket.connected(to: place.path + "/limits")
        try await sender.write(Array(Self.frame.bytes.dropLast(100)))
        try await sender.otherEndEnded()
        withExtendedLifetime(patient) {}
    }

    @Test func `a sender reads the requests of the program`() async throws {
        let sender = try PeerSocket.connected(to: place.socket)
        try await sender.write(Self.frame.bytes)
        var connections = server.connections.makeAsyncIterator()
        let connection = try #require(try await connections.next())
        connection.send(.hello(ControlRequest.Hello(wants: .frames)))
        connection.send(.pause)
        #expect(try await sender.nextMessage()?.requestName == "hello")
        #expect(try await sender.nextMessage()?.requestName == "pause")
    }
}
