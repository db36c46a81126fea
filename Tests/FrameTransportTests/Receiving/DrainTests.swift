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
        let (server, sender, connection) = try await directory.openReception()
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

    /// Shows P98.
    @Test func `a sender waits for the consumer during a drain too, after it has read requests late`() async throws {
        let (server, sender, connection) = try await directory.openReception { $0.limits.linger = .seconds(60) }
        // More than the socket holds: the rest waits for room, and is not written any more.
        for number in 0..<600 { connection.send(.ping(UInt64(number))) }
        await server.settle()
        server.drain()
        while try await !sender.readSome(upTo: 1 << 16).isEmpty {}
        await server.settle()
        let sent = (0..<100).map { body($0, count: 10_000) }
        let writing = Task {
            try await sender.write(sent.flatMap { message($0) })
            sender.finishWriting()
        }
        var frames = connection.frames.makeAsyncIterator()
        var received = [try #require(try await frames.next()).bytes]
        await server.settle()
        #expect(server.statistics.memoryInFlight < 100_000)
        while let frame = try await frames.next() { received.append(frame.bytes) }
        #expect(received == sent)
        try await writing.value
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
}
