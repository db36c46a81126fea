import Foundation
import FrameSocketTesting
import FrameTransport
import FrameWire
import TestSupport
import Testing

/// Bytes that could bring a server down, sent to one.
///
/// Which byte is wrong, and that no way of cutting the bytes changes anything, is tested with the decoder alone.
@Suite(.timeLimit(.minutes(5))) struct HostileStreamTests {
    private static let start = "HTTP/1.1 200 OK"

    /// Streams that must end their connections: one for each part of a message, and for each way to end within one.
    static let cases: [(code: WireError.Code, bytes: [UInt8])] = [
        (.startLineMalformed, [0x16, 3, 1, 2, 0, 1]),
        (.headTooLong, Array("\(start)\r\nX: \(String(repeating: "x", count: 9000))".utf8)),
        (.lineMalformed, Array("\(start)\r\nX: \0\r\n".utf8)),
        (.fieldMissing, Array("\(start)\r\nMessage-Type: audio\r\n\r\n".utf8)),
        (.bodyTruncated, message(body(1, count: 4)).dropLast()), (.headTruncated, Array(start.utf8)),
    ]

    /// Shows P94.
    @Test(arguments: cases) func `a hostile stream ends its own connection with one error`(
        _ hostile: (code: WireError.Code, bytes: [UInt8])
    ) async throws {
        let directory = try TemporaryDirectory()
        let server = try directory.server()
        let (innocent, innocentConnection) = try await server.connectedPeer()
        let (attacker, connection) = try await server.connectedPeer()

        try await innocent.write(message(body(1, count: 3000)))
        #expect(try await innocentConnection.nextBytes() == body(1, count: 3000))

        // It is cut off when the server has seen enough.
        try? await attacker.write(message(body(2, count: 700)) + hostile.bytes)
        attacker.finishWriting()
        var frames = connection.frames.makeAsyncIterator()
        #expect(try await frames.next()?.jpeg?.array() == body(2, count: 700))
        let error = await #expect(throws: TransportError.self) { try await frames.next() }
        #expect(error?.code == .malformedMessage)
        #expect(error?.wireError?.code == hostile.code, "\(error?.description ?? "nothing")")
        // It stays the same, and nothing comes after it.
        #expect(await #expect(throws: TransportError.self) { try await frames.next() } == error)
        #expect(try await connection.closed() == .failed(try #require(error)))

        try await innocent.write(message(body(4, count: 3000)))
        #expect(try await innocentConnection.nextBytes() == body(4, count: 3000))
        #expect(innocentConnection.closeReason == nil)
        withExtendedLifetime(server) {}
    }

    /// Shows P97.
    @Test func `a body without bytes is a frame, and its connection continues`() async throws {
        let directory = try TemporaryDirectory()
        let (server, client, connection) = try await directory.openReception()
        try await client.write(message([]) + message([1]))
        #expect(try await connection.nextBytes() == [])
        #expect(try await connection.nextBytes() == [1])
        withExtendedLifetime(server) {}
    }
}
