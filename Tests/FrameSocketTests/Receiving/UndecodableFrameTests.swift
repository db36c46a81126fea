import FrameSocket
import FrameSocketTesting
import TestSupport
import Testing

/// Frames whose JPEG is wrong: each costs itself, and many in a row the connection that sends them, and nobody else's.
@Suite(.timeLimit(.minutes(5))) struct UndecodableFrameTests {
    private static let size = (width: 75, height: 51)

    private static func frame(_ jpeg: [UInt8]) -> [UInt8] {
        message(jpeg, width: size.width, height: size.height)
    }

    /// A server with an innocent sender and another, and their connections.
    private func pair(
        in directory: TemporaryDirectory,
        _ change: (inout FrameServer.Configuration) -> Void = { _ in }
    ) async throws -> (FrameServer, innocent: (PeerSocket, FrameConnection), other: (PeerSocket, FrameConnection)) {
        let server = try directory.server { change(&$0) }
        var connections = server.connections.makeAsyncIterator()
        let innocent = try PeerSocket.connected(to: directory.socket)
        let innocentConnection = try #require(try await connections.next())
        let other = try PeerSocket.connected(to: directory.socket)
        let otherConnection = try #require(try await connections.next())
        return (server, (innocent, innocentConnection), (other, otherConnection))
    }

    /// Shows P99.
    @Test(
        arguments: [(8, 8), (7, 8), (3, 3), (2, 3), (1, 1), (1, 0)]
    )
    func `undecodable frames in a row close the connection at the limit`(count: Int, limit: Int) async throws {
        let directory = try TemporaryDirectory()
        let (server, innocent, other) = try await pair(in: directory) { $0.limits.maximumUndecodableFrames = limit }
        let decoder = FrameDecoder()
        var frames = other.1.frames.makeAsyncIterator()
        var bad: [Frame] = []
        for _ in 0..<count {
            try await other.0.write(Self.frame([0xFF, 0xD8]))
            bad.append(try #require(try await frames.next()))
            // Reported again and again, as by several readers one after the other, a frame counts once.
            for frame in bad + bad { #expect(throws: TurboJPEGError.self) { try decoder.decode(frame) } }
        }
        if count >= limit {
            #expect(try await other.1.closed().error?.code == .undecodableFrames)
        } else {
            // A good one restarts the count.
            try await other.0.write(Self.frame(HostileJPEG.good))
            let good = try #require(try await frames.next())
            _ = try decoder.decode(good)
            for _ in 0..<count {
                try await other.0.write(Self.frame([0xFF, 0xD8]))
                let frame = try #require(try await frames.next())
                #expect(throws: TurboJPEGError.self) { try decoder.decode(frame) }
            }
            #expect(other.1.closeReason == nil)
        }
        try await innocent.0.write(Self.frame(HostileJPEG.good))
        var innocentFrames = innocent.1.frames.makeAsyncIterator()
        let frame = try #require(try await innocentFrames.next())
        #expect(try decoder.decode(frame).image.width == Self.size.width)
        #expect(innocent.1.closeReason == nil)
        if count < limit { #expect(other.1.closeReason == nil) }
        withExtendedLifetime(server) {}
    }
}
