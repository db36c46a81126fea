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
