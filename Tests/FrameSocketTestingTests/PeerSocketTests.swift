import FrameSocket
import FrameSocketTesting
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// The socket below the scripts.
@Suite(.timeLimit(.minutes(5))) struct PeerSocketTests {
    let place: Place

    init() throws {
        place = try Place()
    }

    private func pair(_ suffix: String = "") async throws -> (PeerSocket, PeerSocket) {
        let listener = try PeerSocket.listening(at: place.socket + suffix)
        let client = try PeerSocket.connected(to: place.socket + suffix)
        return (client, try await listener.accepted())
    }

    @Test(arguments: [Int.min, -1, 0, 2 << 20, .max])
    func `any number of bytes can be asked for`(count: Int) async throws {
        let (client, server) = try await pair()
        // More than one call takes.
        let sending = Task { try await client.write([UInt8](repeating: 1, count: 3 << 20)) }
        let some = try await server.readSome(upTo: count)
        #expect(some.isEmpty == (count <= 0) && some.count <= max(0, min(count, 1 << 20)))
        if count < 1 {
            #expect(try await server.read(count).isEmpty)
            #expect(try await PeerMessageReader(server).bytes(count).isEmpty)
        }
        client.close()
        _ = try? await sending.value
    }

    @Test func `closing ends a waiting call`() async throws {
        let (client, server) = try await pair()
        let reading = Task { try await server.readSome(upTo: 1) }
        let accepting = Task { () async throws -> PeerSocket in
            let listener = try PeerSocket.listening(at: place.path + "/other")
            Task {
                try await Task.sleep(for: .milliseconds(30))
                listener.close()
            }
            return try await listener.accepted()
        }
        // Closed before the call or during it: either way it ends.
        try await Task.sleep(for: .milliseconds(30))
        server.close()
        #expect(await #expect(throws: PeerError.self) { try await reading.value }?.code == .closed)
        #expect(await #expect(throws: PeerError.self) { try await accepting.value }?.code == .closed)
        #expect(try await client.read(1) == [])
        #expect(server.isClosed && !client.isClosed)
        #expect(throws: PeerError.self) { try server.connect(to: place.socket) }
    }

    @Test func `many simultaneous waits do not delay anybody else`() async throws {
        let (client, server) = try await pair()
        // Far more than Swift's pool has threads.
        let waits = (0..<200).map { _ in Task { try await server.readSome(upTo: 1) } }
        try await client.write([UInt8](repeating: 5, count: 200))
        for wait in waits { #expect(try await wait.value == [5]) }
    }

    @Test func `a full backlog is an error at once, and a later place is used`() async throws {
        let listener = try PeerSocket.listening(at: place.socket, backlog: 0)
        let first = try PeerSocket.connected(to: place.socket)
        let error = #expect(throws: PeerError.self) {
            for _ in 0..<10 { _ = try PeerSocket.connected(to: place.socket).isQuiet }
        }
        #expect(error?.code == .system)
        let path = place.socket
        let waiting = Task { try await PeerSocket.connectedWhenListening(at: path) }
        _ = try await listener.accepted()
        let next = try await listener.accepted()
        try await next.write([1])
        next.finishWriting()
        _ = try await waiting.value
        withExtendedLifetime(first) {}
    }

    @Test func `a reset over TCP is an error instead of an end`() async throws {
        let listener = try PeerSocket.listeningOnLoopback()
        let client = try PeerSocket.connecting(toPort: listener.port)
        let server = try await listener.accepted()
        try await client.write([1, 2, 3])
        client.reset()
        try await server.otherEndEnded()
        #expect(try await server.readSome(upTo: 3) == [1, 2, 3])
        let error = await #expect(throws: PeerError.self) { try await server.readSome(upTo: 3) }
        #expect(error?.description.contains("reset") == true)
    }

    @Test func `a port where nobody listens is an error`() async throws {
        let listener = try PeerSocket.listeningOnLoopback()
        let port = listener.port
        listener.close()
        let peer = ScriptedPeer(.connect(toPort: port), .read(1))
        #expect(await #expect(throws: PeerError.self) { try await peer.run() }?.code == .system)
    }

    @Test func `fields are found whatever their case and spacing`() {
        let message = PeerMessage(header: "HTTP/1.1 200 OK\r\nbuffer-WIDTH:\t 12  \r\nX: a:b\r\n\r\n", body: [1, 2])
        #expect(message.width == 12 && message.field("x") == "a:b" && message.field("y") == nil && message.isFrame)
        #expect(message.bytes == Array(message.header.utf8) + [1, 2])
        #expect(message.bytesCutInBody.count == message.bytes.count - 1)
        #expect(PeerMessage.request("ping").requestName == "ping" && !PeerMessage.request("ping").isFrame)
    }

    @Test(arguments: [1, 2, 253])
    func `descriptors are passed with the first byte, and stay open`(count: Int) async throws {
        let (client, server) = try await pair()
        let (near, far) = try await pair("-passed")
        let bytes = [UInt8](repeating: 7, count: 300_000)
        async let writing: Void = client.write(bytes, passing: [Int32](repeating: near.descriptor, count: count))
        let received = try await ReceivedDescriptors(from: server)
        #expect(received.descriptors.count == count && received.byteCount > 0)
        #expect(try await server.read(bytes.count - received.byteCount).count == bytes.count - received.byteCount)
        try await writing
        // They are the same socket as the one that is still here.
        for descriptor in received.descriptors { try await PeerSocket(descriptor: descriptor).write([5]) }
        try await near.write([6])
        #expect(try await far.read(count + 1) == [UInt8](repeating: 5, count: count) + [6])
    }

    @Test func `descriptors that cannot be passed are an error`() async throws {
        let (client, server) = try await pair()
        let own = client.descriptor
        let nothing = await #expect(throws: PeerError.self) { try await client.write([], passing: [own]) }
        #expect(nothing?.code == .misuse)
        let closed = await #expect(throws: PeerError.self) { try await client.write([1], passing: [-1]) }
        #expect(closed?.underlyingErrno == EBADF)
        let tooMany = [Int32](repeating: own, count: 254)
        let many = await #expect(throws: PeerError.self) { try await client.write([1], passing: tooMany) }
        #expect(many?.code == .system)
        // None are fine.
        try await client.write([1, 2], passing: [])
        #expect(try await server.read(2) == [1, 2])
    }

    @Test func `a script leaves the socket open that it was given, unless a step closes it`() async throws {
        let (client, server) = try await pair()
        _ = try await ScriptedPeer(on: client, .write([1])).run()
        #expect(!client.isClosed)
        _ = try await ScriptedPeer(on: client, .write([2]), .read(-1), .close).run()
        #expect(client.isClosed)
        #expect(try await server.read(3) == [1, 2])
    }

    @Test func `a script passes descriptors`() async throws {
        let (client, server) = try await pair()
        _ = try await ScriptedPeer(on: client, .write([1, 2, 3], passing: [client.descriptor])).run()
        let received = try await ReceivedDescriptors(from: server)
        #expect(received.descriptors.count == 1 && received.byteCount == 3)
        for descriptor in received.descriptors { close(descriptor) }
    }
}
