import Foundation
import FrameSocketTesting
import FrameTransport
import FrameWire
import TestDescriptions
import TestSupport
import Testing

/// An end that loses nothing which has arrived.
@Suite(.timeLimit(.minutes(5)), .besideBystander) struct DrainTests {
    let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    /// Small enough that all of them wait in a socket's buffer.
    private func bodies(_ count: Int) -> [[UInt8]] {
        (0..<count).map { body($0, count: 1000) }
    }

    private func frames(of connection: FrameConnection) async throws -> [[UInt8]] {
        var frames: [[UInt8]] = []
        for try await frame in connection.frames { frames.append(frame.bytes) }
        return frames
    }

    /// Shows P128.
    @Test(arguments: [0, 1, 20, 100]) func `everything that has arrived is delivered, up to the last complete frame`(
        cut: Int
    )
        async throws
    {
        let server = try directory.server()
        let sender = try PeerSocket.connected(to: directory.socket)
        let connection = try #require(try await firstConnection(of: server))
        // The consumer takes none before all is there, and the sender's next frame is under way.
        try await sender.write(bodies(20).flatMap { message($0) } + message(body(20, count: 1000)).prefix(cut))
        server.drain()
        // It is told at once, and stops.
        #expect(try await sender.read(1) == [])
        sender.finishWriting()
        #expect(try await frames(of: connection) == bodies(20))
        #expect(try await connection.closed() == .closedLocally(.stoppedByUser))
        try await server.closed()
        #expect(directory.names.isEmpty)
    }

    @Test func `a sender that does not stop is cut off, and what it sent before is delivered`() async throws {
        let server = try directory.server { $0.limits.linger = .milliseconds(20) }
        let sender = try PeerSocket.connected(to: directory.socket)
        let connection = try #require(try await firstConnection(of: server))
        let writing = Task {
            for index in 0... { try await sender.write(message(body(index, count: 1000))) }
        }
        var count = 0
        for try await frame in connection.frames {
            #expect(frame.jpeg?.array() == body(count, count: 1000))
            count += 1
            if count == 10 { server.drain() }
        }
        #expect(count >= 10)
        #expect(try await connection.closed() == .closedLocally(.stoppedByUser))
        await #expect(throws: PeerError.self) { try await writing.value }
        try await server.closed()
    }

    /// Shows P130.
    @Test func `a slow consumer gets the time it needs`() async throws {
        let server = try directory.server { $0.limits.linger = .zero }
        let sender = try PeerSocket.connected(to: directory.socket)
        let connection = try #require(try await firstConnection(of: server))
        try await sender.write(bodies(20).flatMap { message($0) })
        server.drain()
        // The sender has been cut off by now, while the consumer has not begun.
        #expect(await becomesTrue { (try? sender.isCutOff) == true })
        #expect(try await frames(of: connection) == bodies(20))
        try await server.closed()
    }

    /// Shows P129.
    @Test(.leftOut(of: .faults, because: "its server believes the kernel that nobody is waiting"))
    func `a sender that has connected but was not accepted yet is heard`() async throws {
        let server = try directory.server()
        let sender = try await IOThread.shared.whileHeld {
            let sender = try PeerSocket.connected(to: directory.socket)
            try await sender.write(bodies(3).flatMap { message($0) })
            sender.finishWriting()
            server.drain()
            return sender
        }
        let connection = try #require(try await firstConnection(of: server))
        #expect(try await frames(of: connection) == bodies(3))
        try await server.closed()
        _ = sender
    }

    /// A backlog, and how many senders connect: Linux lets one more wait than it is told.
    ///
    /// Shows P129.
    @Test(
        .leftOut(of: .faults, because: "its server believes the kernel that nobody is waiting"),
        arguments: [(0, 1), (1, 2), (4, 5), (-1, 20)]
    )
    func `every sender that the system lets wait is heard`(backlog: Int, count: Int) async throws {
        let server = try directory.server { $0.limits.maximumBacklog = backlog }
        let senders = try await IOThread.shared.whileHeld {
            var senders: [PeerSocket] = []
            for seed in 0..<count {
                let sender = try PeerSocket.connected(to: directory.socket)
                try await sender.write(message(body(seed, count: 1000)))
                sender.finishWriting()
                senders.append(sender)
            }
            server.drain()
            return senders
        }
        var bodies: Set<[UInt8]> = []
        for try await connection in server.connections { bodies.formUnion(try await frames(of: connection)) }
        #expect(bodies.count == count)
        try await server.closed()
        withExtendedLifetime(senders) {}
    }

    @Test func `an invalid stream is still a failure`() async throws {
        let server = try directory.server()
        let sender = try PeerSocket.connected(to: directory.socket)
        let connection = try #require(try await firstConnection(of: server))
        try await sender.write(bodies(2).flatMap { message($0) } + Array("nonsense\r\n\r\n".utf8))
        server.drain()
        let error = await #expect(throws: TransportError.self) { _ = try await frames(of: connection) }
        #expect(error?.code == .malformedMessage)
        try await server.closed()
    }

    @Test func `a sender of this package sees an orderly end`() async throws {
        let server = try directory.server()
        let sender = directory.connection { $0.reopens = false }
        try await sender.open(within: nil)
        let connection = try #require(try await firstConnection(of: server))
        // As large as what it pads smaller ones to.
        let bodies = (0..<5).map { body($0, count: 10_240) }
        for body in bodies { try await sender.send(FrameMessage(body)) }
        server.drain()
        #expect(try await frames(of: connection) == bodies)
        #expect(try await sender.closed().error == nil)
        try await server.closed()
    }

    @Test func `closing ends a drain that nobody waits for`() async throws {
        let server = try directory.server()
        let sender = try PeerSocket.connected(to: directory.socket)
        let connection = try #require(try await firstConnection(of: server))
        try await sender.write(bodies(20).flatMap { message($0) })
        server.drain()
        server.drain()
        server.close()
        #expect(try await sender.read(1) == [])
        sender.close()
        try await server.closed()
        _ = connection
    }

    @Test func `a sender that has not sent its token has nothing to deliver`() async throws {
        let server = try directory.server { $0.tokens = HandshakeTokens(own: [1], expected: [2]) }
        let sender = try PeerSocket.connected(to: directory.socket)
        await IOThread.shared.settle()
        server.drain()
        #expect(try await sender.read(1) == [])
        sender.close()
        try await server.closed()
    }
}

extension PeerSocket {
    /// Whether the other side takes nothing more.
    fileprivate var isCutOff: Bool {
        get throws {
            var state = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
            guard unsafe poll(&state, 1, 0) >= 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
            // A pipe whose reader has gone is always ready; a write of nothing tells.
            return unsafe send(descriptor, [0], 0, Int32(MSG_NOSIGNAL)) < 0 && errno == EPIPE
        }
    }
}
