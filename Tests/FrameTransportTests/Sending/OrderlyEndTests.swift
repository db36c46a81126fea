import FrameSocketTesting
import FrameTransport
import FrameWire
import Synchronization
import TestDescriptions
import TestSupport
import Testing

/// An orderly end stays one, whatever else happens at the same moment, and says why.
@Suite(.timeLimit(.minutes(5))) struct OrderlyEndTests {
    let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    private var hello: [UInt8] { ControlRequest.hello(ControlRequest.Hello(wants: [.frames, .audio])).encoded() }

    // MARK: A stop

    /// Shows P45.
    @Test(arguments: [false, true])
    func `a stop is obeyed even if the host has left before it is answered`(leavesFrameUnread: Bool) async throws {
        for _ in 0..<10 {
            let directory = try TemporaryDirectory()
            let listener = try PeerSocket.listening(at: directory.socket)
            let sender = directory.connection()
            try await sender.open(within: nil)
            let host = try await listener.accepted()
            if leavesFrameUnread { try await sender.send(FrameMessage(body(1, count: 20_000))) }
            // The sender reads nothing of it before the host has gone.
            try await IOThread.shared.whileHeld {
                try await host.write(hello + ControlRequest.stop(.callEnded).encoded())
                host.close()
            }
            let comesBack = Flag()
            Task {
                _ = try await listener.accepted()
                comesBack.set()
            }
            #expect(await becomesTrue { sender.closeReason != nil || comesBack.isSet })
            try #require(sender.closeReason == .closedByPeer(.callEnded), "the sender has come back")
            // Ends the wait for a sender that comes back.
            _ = try? PeerSocket.connected(to: directory.socket)
        }
    }

    @Test func `a stop is obeyed even if a frame could not be written before it was read`() async throws {
        let listener = try PeerSocket.listening(at: directory.socket)
        let sender = directory.connection()
        try await sender.open(within: nil)
        let host = try await listener.accepted()
        try await host.write(hello)
        #expect(await becomesTrue { sender.receiver.hello != nil })
        let error: TransportError? = try await IOThread.shared.whileHeld {
            try await host.write(ControlRequest.stop(.superseded).encoded())
            host.close()
            do throws(TransportError) {
                try await sender.send(FrameMessage(body(1, count: 20_000)))
                return nil
            } catch {
                return error
            }
        }
        #expect(error?.code == .connectionLost)
        #expect(await becomesTrue { sender.closeReason == .closedByPeer(.superseded) })
    }

    // MARK: A half-close

    /// Shows P128.
    @Test func `a drain lets this package's sender finish the frame that it is writing`() async throws {
        let server = try directory.server { $0.limits.linger = .seconds(600) }
        let sender = directory.connection { $0.reopens = false }
        try await sender.open(within: nil)
        let connection = try #require(try await firstConnection(of: server))
        guard sender.backlog != nil else { try Test.cancel("this system does not tell how full a socket is") }
        try await sender.send(FrameMessage(body(0, count: 20_000)))
        // More than the socket holds: the rest of it goes out while the server drains. It is begun once the socket is full,
        // and nobody takes frames yet.
        let result = Mutex<Result<Void, TransportError>?>(nil)
        try sender.submit(FrameMessage(body(1, count: 30 << 20))) { outcome in
            result.withLock { $0 = outcome }
        }
        #expect(await becomesTrue { (sender.backlog?.unreadByteCount ?? 0) > 60_000 })
        server.drain()
        let received = try await soon {
            var received: [Int] = []
            for try await frame in connection.frames {
                #expect(frame.bytes == body(received.count, count: frame.bytes.count))
                received.append(frame.bytes.count)
            }
            return received
        }
        #expect(received == [20_000, 30 << 20], "the frame under way is cut off")
        #expect(await becomesTrue { result.withLock { $0 } != nil })
        #expect(throws: Never.self) { try result.withLock { $0 }?.get() }
        #expect(try await soon { try await sender.closed() }?.error == nil)
        #expect(try await soon { try await connection.closed() } == .closedLocally(.stoppedByUser))
    }

    /// Shows P127.
    @Test func `a sender finishes its frame for a plain receiver that has announced that it will write no more`()
        async throws
    {
        let listener = try PeerSocket.listening(at: directory.socket)
        let sender = directory.connection { $0.reopens = false }
        try await sender.open(within: nil)
        let host = try await listener.accepted()
        let isSent = Flag()
        try sender.submit(FrameMessage(body(1, count: 30 << 20))) { result in
            if case .success = result { isSent.set() }
        }
        host.finishWriting()
        await IOThread.shared.settle()
        let expected = message(body(1, count: 30 << 20))
        #expect(try await soon { try await host.read(expected.count) } == expected)
        #expect(await becomesTrue { isSent.isSet })
        // And then ends cleanly.
        #expect(try await soon { try await host.read(1) } == [])
        host.close()
        #expect(try await soon { try await sender.closed() } == .closedByPeer(.stoppedByUser))
    }

    // MARK: What the sender left unread

    /// Shows P134.
    @Test(arguments: [0, 1, 3])
    func `a sender that never reads ends in an orderly way, whatever the receiver has told it`(frames: Int) async throws
    {
        let server = try directory.server { $0.hello = ControlRequest.Hello(wants: .frames) }
        let sender = try PeerSocket.connected(to: directory.socket)
        let connection = try #require(try await firstConnection(of: server))
        await server.settle()
        #expect(!sender.isQuiet, "the hello is there, and is left unread")
        try await sender.write((0..<frames).flatMap { message(body($0, count: 300)) })
        sender.close()
        let received = try await soon {
            var received: [[UInt8]] = []
            for try await frame in connection.frames { received.append(frame.bytes) }
            return received
        }
        #expect(received == (0..<frames).map { body($0, count: 300) })
        #expect(try await soon { try await connection.closed() } == .closedByPeer(.stoppedByUser))
    }

    /// Shows P123.
    @Test func `a sender that leaves within a frame with the hello unread has broken the connection`() async throws {
        let server = try directory.server { $0.hello = ControlRequest.Hello(wants: .frames) }
        let sender = try PeerSocket.connected(to: directory.socket)
        let connection = try #require(try await firstConnection(of: server))
        await server.settle()
        try await sender.write(message(body(0, count: 300)).dropLast())
        sender.close()
        let reason = try #require(try await soon { try await connection.closed() })
        #expect(reason.finishReason == .disconnected || reason.error?.code == .malformedMessage)
    }

    // MARK: The last status

    /// Shows P11.
    @Test func `nothing follows the status that announces that the sender has stopped`() async throws {
        let listener = try PeerSocket.listening(at: directory.socket)
        let sender = directory.connection()
        try await sender.open(within: nil)
        let host = try await listener.accepted()
        try await host.write(hello)
        #expect(await becomesTrue { sender.receiver.wants.contains(.audio) })
        // The host does not read: audio is under way, and a frame waits behind it.
        let samples = FrameBytes(body(1, count: 256 << 10))
        for _ in 0..<60 {
            #expect(try sender.send(AudioBlock(kind: .app, sampleRate: 44_100, channels: 1, samples: samples)))
        }
        let isSettled = Flag()
        try sender.submit(FrameMessage(body(1, count: 20_000))) { _ in isSettled.set() }
        sender.close(.callEnded)
        await IOThread.shared.settle()
        let messages = try #require(try await soon { try await host.messages() })
        let last = try #require(messages.lastIndex { $0.state == "stopped" })
        #expect(messages[last].field("Finish-Reason") == "10006")
        #expect(last == messages.count - 1, "\(messages[(last + 1)...].map(\.header)) follow")
        host.close()
        #expect(try await soon { try await sender.closed() } == .closedLocally(.callEnded))
        #expect(isSettled.isSet)
    }

    // MARK: A path that cannot be used

    /// Shows P139.
    @Test(arguments: [String(repeating: "x", count: 200), "", "/tmp/"].map { Short($0) })
    func `a connection to a path that no socket can have has ended, and says so`(path: Short) async throws {
        let connection = SocketConnection(path: path.text)
        let error = await #expect(throws: TransportError.self) { try await connection.open(within: nil) }
        let failure = try #require(error)
        #expect(connection.state == .ended(.failed(failure)))
        #expect(try await soon { try await connection.closed() } == .failed(failure))
        #expect(connection.closeReason == .failed(failure))
        let again = await #expect(throws: TransportError.self) { try await connection.open(within: nil) }
        #expect(again == failure)
    }
}
