import FrameSocket
import FrameSocketTesting
import TestDescriptions
import TestSupport
import Testing

/// The socket of a peer: what it does, and how each of its calls ends when the other end does nothing.
@Suite(.timeLimit(.minutes(5))) struct PeerSocketTests {
    let place: TemporaryDirectory

    init() throws {
        place = try TemporaryDirectory()
    }

    private func pair() async throws -> (PeerSocket, PeerSocket) {
        let listener = try PeerSocket.listening(at: place.socket)
        let client = try PeerSocket.connected(to: place.socket)
        return (client, try await listener.accepted())
    }

    @Test(arguments: [Int.min, -1, 0, 2 << 20, .max])
    func `any number of bytes can be asked for`(count: Int) async throws {
        let (client, server) = try await pair()
        // More than one call takes.
        let sending = Task { try await client.write([UInt8](repeating: 1, count: 3 << 20)) }
        let some = try await server.readSome(upTo: count)
        #expect(some.isEmpty == (count <= 0) && some.count <= max(0, min(count, 1 << 20)))
        if count < 1 { #expect(try await server.read(count).isEmpty) }
        client.close()
        _ = try? await sending.value
    }

    @Test func `closing ends a waiting call`() async throws {
        let (client, server) = try await pair()
        let listener = try PeerSocket.listening(at: place.path + "/other")
        let reading = Task { try await server.readSome(upTo: 1) }
        let accepting = Task { try await listener.accepted() }
        // Closed before the call or during it: either way it ends.
        try await Task.sleep(for: .milliseconds(30))
        server.close()
        listener.close()
        #expect(await #expect(throws: PeerError.self) { try await reading.value }?.code == .closed)
        #expect(await #expect(throws: PeerError.self) { try await accepting.value }?.code == .closed)
        #expect(try await client.read(1) == [])
        #expect(await #expect(throws: PeerError.self) { try await server.write([1]) }?.code == .closed)
    }

    @Test func `many simultaneous waits do not delay anybody else`() async throws {
        let (client, server) = try await pair()
        // Far more than Swift's pool has threads.
        let waits = (0..<200).map { _ in Task { try await server.readSome(upTo: 1) } }
        try await client.write([UInt8](repeating: 5, count: 200))
        for wait in waits { #expect(try await wait.value == [5]) }
    }

    /// A call that waits for the other end, which does nothing.
    enum Wait: CaseIterable {
        case accepting, reading, readingSome, readingMessage, writing, end

        func begin(_ peer: PeerSocket, _ listener: PeerSocket) async throws {
            switch self {
            case .accepting: _ = try await listener.accepted()
            case .reading: _ = try await peer.read(1)
            case .readingSome: _ = try await peer.readSome(upTo: 1)
            case .readingMessage: _ = try await peer.nextMessage()
            case .writing: try await peer.write([UInt8](repeating: 0, count: 10_000_000))
            case .end: try await peer.otherEndEnded()
            }
        }
    }

    @Test(arguments: Wait.allCases) func `a call that waits too long fails`(wait: Wait) async throws {
        let (client, server) = try await pair()
        let listener = try PeerSocket.listening(at: place.path + "/other")
        let error = await #expect(throws: PeerError.self) {
            try await PeerSocket.patience.withValue(.milliseconds(50)) { try await wait.begin(client, listener) }
        }
        #expect(error?.code == .timedOut && error?.message.contains("0.05 seconds") == true, "\(error as Any)")
        withExtendedLifetime(server) {}
    }

    @Test(arguments: Wait.allCases, [false, true])
    func `a call ends when its task is cancelled, before it or meanwhile`(wait: Wait, isEarly: Bool) async throws {
        let (client, server) = try await pair()
        let listener = try PeerSocket.listening(at: place.path + "/other")
        let waiting = Task {
            if isEarly { unsafe withUnsafeCurrentTask { unsafe $0?.cancel() } }
            try await wait.begin(client, listener)
        }
        if !isEarly { try await Task.sleep(for: .milliseconds(30)) }
        waiting.cancel()
        #expect(await #expect(throws: PeerError.self) { try await waiting.value }?.code == .cancelled)
        withExtendedLifetime(server) {}
    }

    // MARK: Opening

    @Test(arguments: ["", "/tmp/" + String(repeating: "x", count: 200), "/tmp/a\0b"].map { Short($0) })
    func `a path that no socket can have is an error`(_ argument: Short) {
        let path = argument.text
        #expect(#expect(throws: PeerError.self) { try PeerSocket.listening(at: path) }?.code == .invalidPath)
        #expect(#expect(throws: PeerError.self) { try PeerSocket.connected(to: path) }?.code == .invalidPath)
    }

    @Test func `a path that is in use, and one where nobody listens, are system errors`() throws {
        let holder = try PeerSocket.listening(at: place.socket)
        let used = #expect(throws: PeerError.self) { try PeerSocket.listening(at: place.socket) }
        #expect(used?.code == .system && used?.description.contains("Address already in use") == true)
        holder.close()
        let dead = #expect(throws: PeerError.self) { try PeerSocket.connected(to: place.socket) }
        #expect(dead?.code == .system && dead?.description.contains("Connection refused") == true)
    }

    @Test func `a full backlog is an error at once, and a later place is used`() async throws {
        let listener = try PeerSocket.listening(at: place.socket, backlog: 0)
        let first = try PeerSocket.connected(to: place.socket)
        let error = #expect(throws: PeerError.self) {
            for _ in 0..<10 { _ = try PeerSocket.connected(to: place.socket).isQuiet }
        }
        #expect(error?.code == .system)
        _ = try await listener.accepted()
        let second = try PeerSocket.connected(to: place.socket)
        try await listener.accepted().write([1])
        #expect(try await second.read(2) == [1])
        withExtendedLifetime(first) {}
    }

    @Test func `a reset over TCP is an error instead of an end`() async throws {
        let listener = try PeerSocket.listening(at: .loopback(port: 0))
        let client = try PeerSocket.connected(to: .loopback(port: listener.port))
        let server = try await listener.accepted()
        try await client.write([1, 2, 3])
        client.reset()
        try await server.otherEndEnded()
        #expect(try await server.readSome(upTo: 3) == [1, 2, 3])
        let error = await #expect(throws: PeerError.self) { try await server.readSome(upTo: 3) }
        #expect(error?.description.contains("reset") == true)
    }

    @Test func `a port where nobody listens is an error`() async throws {
        let listener = try PeerSocket.listening(at: .loopback(port: 0))
        let port = listener.port
        listener.close()
        let error = await #expect(throws: PeerError.self) {
            try await PeerSocket.connected(to: .loopback(port: port)).readSome(upTo: 1)
        }
        #expect(error?.code == .system)
    }

    // MARK: Messages

    @Test func `fields are found whatever their case and spacing`() {
        let message = PeerMessage(header: "HTTP/1.1 200 OK\r\nbuffer-WIDTH:\t 12  \r\nX: a:b\r\n\r\n", body: [1, 2])
        #expect(message.width == 12 && message.field("x") == "a:b" && message.field("y") == nil && message.isFrame)
        #expect(message.bytes == Array(message.header.utf8) + [1, 2])
        #expect(PeerMessage.request("ping").requestName == "ping" && !PeerMessage.request("ping").isFrame)
    }

    @Test(arguments: [1, 7, .max])
    func `messages are read one by one, and what follows is left in the socket`(chunk: Int) async throws {
        let (client, server) = try await pair()
        let frames = (0..<4).map {
            PeerMessage.frame([UInt8](repeating: 3, count: 5000 * $0), width: 1, height: 2, sequence: UInt64($0))
        }
        let bytes = frames.flatMap(\.bytes)
        async let writing: Void = client.write(bytes + [1, 2], chunk: chunk)
        #expect(try await server.nextMessage() == frames[0])
        #expect(try await server.nextMessage { $0.sequence == 2 } == frames[2])
        #expect(try await server.read(frames[3].bytes.count) == frames[3].bytes)
        #expect(try await server.read(2) == [1, 2])
        #expect(server.isQuiet)
        try await writing
        try await client.write(bytes)
        client.close()
        #expect(try await server.messages(until: { $0.sequence == 1 }) == [frames[0]])
        #expect(try await server.messages() == Array(frames[2...]))
        #expect(try await server.nextMessage() == nil)
    }

    /// What a program may write that is no message, or not all of one.
    @Test(
        arguments: [
            ("HTTP/1.1 200 OK\r\n", PeerError.Code.ended),
            ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc", .ended),
            ("HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n", .malformed),
            ("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", .malformed),
            ("HTTP/1.1 200 OK\r\nContent-Length: 9223372036854775807\r\n\r\n", .ended),
            (String(repeating: "x", count: 100_000), .malformed),
        ].map { (Short($0), $1) }
    )
    func `a program that writes no message is detected`(_ argument: Short, code: PeerError.Code) async throws {
        let (client, server) = try await pair()
        let text = Array(argument.text.utf8)
        let writing = Task {
            // It may be cut off when the peer has seen enough.
            try? await client.write(text)
            client.close()
        }
        let error = await #expect(throws: PeerError.self) { try await server.nextMessage() }
        #expect(error?.code == code, "\(error as Any)")
        server.close()
        await writing.value
    }
}
