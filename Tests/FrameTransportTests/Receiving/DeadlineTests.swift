import Foundation
import FrameSocketTesting
import FrameWire
import TestSupport
import Testing

@testable import FrameTransport

/// The time limits of a sender, none of which runs while the consumer is slow.
@Suite(.timeLimit(.minutes(5))) struct DeadlineTests {
    let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    private static let never = Duration.seconds(1 << 20)

    /// A server that waits practically forever except for what `change` sets, one sender, and its connection.
    private func pair(
        _ change: (inout FrameServer.Limits) -> Void
    ) async throws -> (FrameServer, client: PeerSocket, FrameConnection) {
        let server = try directory.server {
            $0.limits.firstFrameTimeout = nil
            $0.limits.headerTimeout = Self.never
            $0.limits.bodyTimeout = Self.never
            change(&$0.limits)
        }
        let client = try PeerSocket.connected(to: directory.socket)
        return (server, client, try #require(try await firstConnection(of: server)))
    }

    /// Expects that the sender is given up on, after the frames that were whole.
    private func expectTimeout(
        over phase: String,
        of connection: FrameConnection,
        after frames: Int = 0
    ) async throws {
        var iterator = connection.frames.makeAsyncIterator()
        for _ in 0..<frames { #expect(try await iterator.next() != nil) }
        let error = await #expect(throws: TransportError.self) { try await iterator.next() }
        #expect(error?.code == .receiveTimedOut)
        #expect(error?.message.contains(phase) == true)
        #expect(try await connection.closed() == .failed(try #require(error)))
    }

    @Test func `the first frame has a deadline`() async throws {
        let (server, client, connection) = try await pair { $0.firstFrameTimeout = .milliseconds(20) }
        try await expectTimeout(over: "first message", of: connection)
        #expect(try await client.read(1).isEmpty)
        _ = server
    }

    @Test func `a sender that has nothing to send has no deadline by default`() {
        #expect(FrameServer.Limits().firstFrameTimeout == nil && FrameServer.Limits().idleTimeout == nil)
    }

    @Test func `a header has a deadline from its first byte`() async throws {
        let (server, client, connection) = try await pair { $0.headerTimeout = .milliseconds(20) }
        try await client.write(Array("HTTP/1.1 200 OK\r\n".utf8))
        try await expectTimeout(over: "head", of: connection)
        _ = server
    }

    @Test func `the header of a later frame has a deadline`() async throws {
        let (server, client, connection) = try await pair { $0.headerTimeout = .milliseconds(20) }
        try await client.write(message([1, 2, 3]) + [UInt8(ascii: "H")])
        try await expectTimeout(over: "head", of: connection, after: 1)
        _ = server
    }

    @Test func `a body has a deadline`() async throws {
        let (server, client, connection) = try await pair { $0.bodyTimeout = .milliseconds(20) }
        try await client.write(message(body(1, count: 1000)).dropLast())
        try await expectTimeout(over: "body", of: connection)
        _ = server
    }

    @Test func `silence between two frames has a deadline if limited`() async throws {
        let (server, client, connection) = try await pair { $0.idleTimeout = .milliseconds(20) }
        try await client.write(message([1]))
        try await expectTimeout(over: "next message", of: connection, after: 1)
        _ = server
    }

    /// Shows P152.
    @Test(arguments: [false, true]) func `an occasional byte does not extend a deadline`(isInBody: Bool) async throws {
        let (server, client, connection) = try await pair { limits in
            if isInBody { limits.bodyTimeout = .milliseconds(30) } else { limits.headerTimeout = .milliseconds(30) }
            limits.minimumBodyBytesPerSecond = 1 << 30
        }
        let whole = message(body(1, count: 1 << 20))
        let begun = isInBody ? 200 : 13
        try await client.write(Array(whole[..<begun]))
        let trickling = Task {
            while true {
                try await client.write([UInt8(ascii: "x")])
                try await Task.sleep(for: .milliseconds(1))
            }
        }
        try await expectTimeout(over: isInBody ? "body" : "head", of: connection)
        // The sender meets the end as well.
        await #expect(throws: (any Error).self) { try await trickling.value }
        _ = server
    }

    @Test func `a long body gets time for its length`() throws {
        var limits = FrameServer.Limits()
        limits.bodyTimeout = .seconds(1)
        limits.minimumBodyBytesPerSecond = 1000
        #expect(limits.bodyDuration(length: 0) == .seconds(1))
        #expect(limits.bodyDuration(length: 2500) == .seconds(3.5))
        limits.minimumBodyBytesPerSecond = 0
        #expect(limits.bodyDuration(length: 10) == .seconds(11))
    }

    /// Shows P153.
    @Test func `no deadline runs while the consumer does not consume`() async throws {
        let (server, client, connection) = try await pair { limits in
            limits.headerTimeout = .milliseconds(20)
            limits.bodyTimeout = .milliseconds(20)
            limits.idleTimeout = .milliseconds(20)
        }
        // Two whole frames and part of a third; the first of them waits for its consumer.
        try await client.write(message(body(0, count: 100)) + message(body(1, count: 100)) + message([9]).dropLast())
        await server.settle()

        // Another sender's time, which began later, passes first.
        let other = try PeerSocket.connected(to: directory.socket)
        var connections = server.connections.makeAsyncIterator()
        let otherConnection = try #require(try await connections.next())
        try await other.write([UInt8(ascii: "H")])
        #expect(try await otherConnection.closed().error?.code == .receiveTimedOut)

        #expect(connection.closeReason == nil)
        try await expectTimeout(over: "body", of: connection, after: 2)
    }

    /// Shows P284.
    @Test func `after a pause longer than the limit of silence, the sender has its whole time`() async throws {
        let (server, client, connection) = try await pair { $0.idleTimeout = .seconds(1) }
        try await client.write(message([1]))
        var frames = connection.frames.makeAsyncIterator()
        #expect(try await frames.next() != nil)
        connection.send(.pause)

        // Another sender's time, which began later, passes.
        let other = try PeerSocket.connected(to: directory.socket)
        var connections = server.connections.makeAsyncIterator()
        let otherConnection = try #require(try await connections.next())
        try await other.write(message([2]))
        #expect(try await otherConnection.closed().error?.code == .receiveTimedOut)

        connection.send(.resume)
        await server.settle()
        try await client.write(message([3]))
        #expect(try await frames.next()?.jpeg?.array() == [3])
    }
}
