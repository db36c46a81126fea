import Foundation
import FrameSocketTesting
import FrameTransport
import FrameWire
import TestDescriptions
import TestSupport
import Testing

/// What becomes of messages: taken whole, waited for, refused, or lost, and never delivered in part.
@Suite(.timeLimit(.minutes(5))) struct SendingTests {
    let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    /// More than a socket's buffer holds, however large systems make it.
    private static let large = body(9, count: 30_000_000)

    /// Shows P2.
    @Test func `a message is written as existing Jitsi senders write it`() async throws {
        let (connection, _, peer) = try await directory.openConnection()
        for count in [10_240, 70_000] {
            let jpeg = body(count, count: count)
            // A socket that takes only a part may have no room for more until some of that is read.
            async let sent: Void = connection.send(FrameMessage(jpeg))
            #expect(try await peer.read(message(jpeg).count) == message(jpeg))
            try await sent
        }
        #expect(peer.isQuiet)
    }

    /// Shows P16.
    @Test(arguments: [true, false]) func `short bodies are padded unless that is turned off`(isPadded: Bool)
        async throws
    {
        let (connection, _, peer) = try await directory.openConnection { $0.padsShortBodies = isPadded }
        for count in [0, 1, 4000, 10_239, 10_240] {
            let jpeg = body(count, count: count)
            let expected = message(isPadded ? jpeg + [UInt8](repeating: 0, count: 10_240 - count) : jpeg)
            try await connection.send(FrameMessage(jpeg))
            #expect(try await peer.read(expected.count) == expected)
        }
        #expect(peer.isQuiet)
    }

    @Test func `a server that does not read is waited for, and the message continues where it stopped`() async throws {
        let (connection, _, peer) = try await directory.openConnection()
        async let sent: Void = connection.send(FrameMessage(Self.large))
        let expected = message(Self.large)
        // In portions, so that the socket fills again and again.
        var received: [UInt8] = []
        while received.count < expected.count {
            received += try await peer.read(min(3_000_000, expected.count - received.count))
            await connection.thread.settle()
        }
        #expect(Data(received) == Data(expected))
        try await sent
        #expect(peer.isQuiet)
    }

    @Test func `a second message is refused while one is being sent`() async throws {
        let (connection, _, peer) = try await directory.openConnection()
        async let sent: Void = connection.send(FrameMessage(Self.large))
        _ = try await peer.read(1)
        let error = await #expect(throws: TransportError.self) { try await connection.send(FrameMessage([1])) }
        #expect(error?.code == .busy)
        _ = try await peer.read(message(Self.large).count - 1)
        try await sent
        try await connection.send(FrameMessage(body(1, count: 20_000)))
        #expect(try await peer.read(message(body(1, count: 20_000)).count) == message(body(1, count: 20_000)))
    }

    @Test func `nothing is sent without a connected server`() async throws {
        let connection = directory.connection()
        let error = await #expect(throws: TransportError.self) { try await connection.send(FrameMessage([1])) }
        #expect(error?.code == .closed)
    }

    /// Shows P158.
    @Test func `a server that accepts nothing is given up and reached again`() async throws {
        let (connection, server, peer) = try await directory.openConnection { $0.sendTimeout = .milliseconds(20) }
        var milestones = connection.milestones()
        #expect(await milestones.next() == .connected)
        let error = await #expect(throws: TransportError.self) { try await connection.send(FrameMessage(Self.large)) }
        #expect(error?.code == .sendTimedOut)
        #expect(await milestones.next() == .disconnected(.failed(try #require(error))))
        #expect(await milestones.next() == .connected)
        let again = try await server.accepted()
        try await connection.send(FrameMessage(body(2, count: 20_000)))
        #expect(try await again.read(message(body(2, count: 20_000)).count) == message(body(2, count: 20_000)))
        _ = peer
    }

    @Test(.tooSlow(for: .brief, .memcheck))
    func `a connection that rests after a long message is not given up`() async throws {
        let (connection, _, peer) = try await directory.openConnection { $0.sendTimeout = .seconds(2) }
        async let sent: Void = connection.send(FrameMessage(Self.large))
        _ = try await peer.read(message(Self.large).count)
        try await sent
        // Once another one that began later is given up, this one's time would have passed too.
        let elsewhere = try TemporaryDirectory()
        let server = try PeerSocket.listening(at: elsewhere.socket)
        let other = elsewhere.connection { $0.sendTimeout = .seconds(2) }
        try await other.open(within: nil)
        await #expect(throws: TransportError.self) { try await other.send(FrameMessage(Self.large)) }
        _ = server
        #expect(connection.isOpen)
    }

    /// Shows P110.
    @Test func `a server that restarts within a message never delivers part of it`() async throws {
        let (connection, server, peer) = try await directory.openConnection()
        let sending = Task { try await connection.send(FrameMessage(Self.large)) }
        _ = try await peer.read(300_000)
        unsafe unlink(directory.socket)
        let next = try directory.server()
        server.close()
        peer.close()
        let error = await #expect(throws: TransportError.self) { try await sending.value }
        #expect(error?.code == .connectionLost)

        try await connection.open(within: nil)
        let received = try #require(try await firstConnection(of: next))
        try await connection.send(FrameMessage(body(4, count: 50_000)))
        connection.close()
        var bodies: [[UInt8]] = []
        for try await frame in received.frames { bodies.append(frame.bytes) }
        #expect(bodies == [body(4, count: 50_000)])
        #expect(received.closeReason == .closedByPeer(.stoppedByUser))
    }

    /// Shows P124.
    @Test func `a message being sent is completed by an orderly close`() async throws {
        let (connection, _, peer) = try await directory.openConnection()
        async let sent: Void = connection.send(FrameMessage(Self.large))
        let first = try await peer.read(1)
        connection.close()
        await connection.thread.settle()
        #expect(!connection.isOpen)
        #expect(try await Data(first + peer.read(.max - 1)) == Data(message(Self.large)))
        try await sent
        peer.close()
        #expect(try await connection.closed() == .closedLocally(.stoppedByUser))
    }

    @Test func `a message being sent is completed even if everybody has released its connection`() async throws {
        let server = try PeerSocket.listening(at: directory.socket)
        let isSent = Flag()
        let peer: PeerSocket
        do {
            let connection = directory.connection()
            try await connection.open(within: nil)
            peer = try await server.accepted()
            try connection.submit(FrameMessage(Self.large)) { result in
                if case .success = result { isSent.set() }
            }
        }
        #expect(try await Data(peer.read(.max)) == Data(message(Self.large)))
        #expect(isSent.isSet)
    }

    /// Shows P125.
    @Test func `a close does not wait forever for a server that does not read`() async throws {
        let (connection, _, peer) = try await directory.openConnection { $0.linger = .milliseconds(20) }
        let sending = Task { try await connection.send(FrameMessage(Self.large)) }
        _ = try await peer.read(1)
        connection.close()
        #expect(try await connection.closed() == .closedLocally(.stoppedByUser))
        let error = await #expect(throws: TransportError.self) { try await sending.value }
        #expect(error?.code == .connectionLost)
    }

    /// Shows P30.
    @Test func `what the server says is read and dropped, and does no harm`() async throws {
        let server = try PeerSocket.listening(at: directory.socket)
        let connection = directory.connection()
        try await connection.open(within: nil)
        let peer = try await server.accepted()
        async let talking: Void = peer.write(body(5, count: 5_000_000), chunk: 33_333)
        for round in 0..<20 {
            let jpeg = body(round, count: 150_000)
            async let sent: Void = connection.send(FrameMessage(jpeg))
            #expect(try await Data(peer.read(message(jpeg).count)) == Data(message(jpeg)))
            try await sent
        }
        try await talking
        var milestones = connection.milestones()
        #expect(await milestones.next() == .connected)
        peer.finishWriting()
        #expect(await milestones.next() == .disconnected(.closedByPeer(.stoppedByUser)))
    }

    @Test func `writing to a server that is gone is an error and not a signal`() async throws {
        await #expect(processExitsWith: .success) {
            signal(SIGPIPE, SIG_DFL)
            let directory = try TemporaryDirectory()
            let server = try PeerSocket.listening(at: directory.socket)
            var configuration = SocketConnection.Configuration()
            configuration.reopens = false
            let connection = SocketConnection(path: directory.socket, configuration: configuration)
            try await connection.open(within: nil)
            let peer = try await server.accepted()
            // The thread that would notice the end stands still, so that the write meets it first.
            await connection.thread.whileHeld {
                peer.close()
                let error = await #expect(throws: TransportError.self) {
                    try await connection.send(FrameMessage(body(1, count: 20_000)))
                }
                #expect(error?.code == .connectionLost)
                #expect(error?.underlyingErrno == EPIPE)
            }
            #expect(try await connection.closed() == .closedByPeer(.stoppedByUser))
        }
    }

    /// Shows P109.
    @Test(arguments: 0..<4)
    func `the outcome of a message and its end are reported once, however close and send meet`(seed: UInt64)
        async throws
    {
        var random = SplitMix(seed: seed)
        let bodies = (0..<5).map { body($0, count: 400_000) }
        for _ in 0..<20 {
            let directory = try TemporaryDirectory()
            let server = try directory.server()
            let connection = directory.connection()
            try await connection.open(within: nil)
            let receiver = try #require(try await firstConnection(of: server))
            async let received = {
                var count = 0
                for try await frame in receiver.frames {
                    #expect(Data(frame.bytes) == Data(bodies[count]))
                    count += 1
                }
                return count
            }()
            let closesAfter = Int.random(in: 0..<4, using: &random)
            let closing = Task {
                for _ in 0..<closesAfter { await Task.yield() }
                connection.close()
            }
            var sent = 0
            do {
                while sent < bodies.count {
                    try await connection.send(FrameMessage(bodies[sent]))
                    sent += 1
                }
            } catch {
                #expect(error.code == .closed)
            }
            await closing.value
            #expect(try await received == sent, "seed \(seed)")
        }
    }
}
