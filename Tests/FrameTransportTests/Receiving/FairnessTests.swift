import Foundation
import FrameSocketTesting
import FrameTransport
import FrameWire
import Locking
import TestDescriptions
import TestSupport
import Testing

/// Whatever one peer sends, and however fast, every other connection of the thread has its turns.
@Suite(.timeLimit(.minutes(5))) struct FairnessTests {
    /// What a peer repeats as fast as it can: read, skipped, or an error, after which the peer comes back.
    enum Flood: CaseIterable {
        case frames, unknown, errors

        /// As many as a socket's buffer takes at once, so that the peer is never the slower one.
        var bytes: [UInt8] {
            let start = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nMessage-Type: "
            let one: [UInt8] =
                switch self {
                case .frames: message([0])
                case .unknown: Array("\(start)later\r\n\r\n".utf8)
                case .errors: Array("\(start)audio\r\n\r\n".utf8)
                }
            return Array(repeatElement(one, count: (256 << 10) / one.count).joined())
        }
    }

    /// Runs `body` while two threads call `work` again and again.
    private func during(_ work: @escaping @Sendable (Flag) -> Void, _ body: () async throws -> Void) async throws {
        let isOver = Flag()
        defer { isOver.set() }
        for _ in 0..<2 { Thread.detachNewThread { while !isOver.isSet { work(isOver) } } }
        try await body()
    }

    /// Sends thirty frames to an innocent connection, each of which comes in time.
    private func expectTurns(
        of connection: FrameConnection,
        from innocent: PeerSocket,
        _ turns: Turns
    ) async throws {
        let received = try await soon {
            for round in 0..<30 {
                try await innocent.write(message(body(round, count: 20_000)))
                turns.begin()
                guard try await connection.nextBytes() == body(round, count: 20_000) else { return round }
                turns.end()
            }
            return 30
        }
        #expect(received == 30, "the innocent sender's frames do not get through")
        #expect(turns.longest <= Turns.limit, "\(turns.longest) reads came before its turn")
    }

    /// Shows P151.
    @Test(.tooSlow(for: .brief), arguments: Flood.allCases)
    func `a sender that floods a server leaves the others their turns`(flood: Flood) async throws {
        let directory = try TemporaryDirectory()
        // So that the flood is read as fast as it comes, although nobody consumes it.
        let turns = Turns()
        let server = try directory.server {
            $0.delivery = .newest
            $0.onRead = { id, _ in turns.read(from: id) }
        }
        let (path, bytes) = (directory.socket, flood.bytes)
        let innocent = try PeerSocket.connected(to: path)
        let connection = try #require(try await firstConnection(of: server))
        turns.follow(connection.id)
        try await during { isOver in
            guard let flooder = try? PeerSocket.connected(to: path) else { return }
            while !isOver.isSet, flooder.sendOnce(bytes) {}
        } _: {
            try await expectTurns(of: connection, from: innocent, turns)
            server.close()
        }
    }

    /// Shows P151.
    @Test func `a consumer that never leaves the connections' thread leaves the others their turns`() async throws {
        let directory = try TemporaryDirectory()
        let turns = Turns()
        let (server, flooder, flooded) = try await directory.openReception {
            $0.onRead = { id, _ in turns.read(from: id) }
        }
        let innocent = try PeerSocket.connected(to: directory.socket)
        let connection = try #require(try await firstConnection(of: server))
        turns.follow(connection.id)
        let consumer = Task(executorPreference: flooded.thread) { for try await _ in flooded.frames {} }
        let frames = (0..<100).flatMap { _ in message([1]) }
        let turn = Locked(())
        try await during { isOver in
            turn.withLock { _ in if !isOver.isSet, !flooder.sendAll(frames) { isOver.set() } }
        } _: {
            try await expectTurns(of: connection, from: innocent, turns)
            flooded.close()
            try await consumer.value
        }
    }
}

/// Counts how often the process reads from sockets before it reads what one connection of a server has been sent.
private final class Turns: Sendable {
    /// Those of two rounds, in each of which three others have 64 reads at most, and as many to spare.
    static let limit = 2 * 2 * 3 * 64

    private struct State {
        var innocent: Int?
        var start: Int?
        var longest = 0
    }

    private let state = Locked(State())

    /// The longest wait, in reads.
    var longest: Int { state.withLock(\.longest) }

    /// To be called behind a write: whatever delays the caller makes the wait no longer than it is.
    func begin() {
        state.withLock { $0.start = Self.reads }
    }

    /// To be called when it has been read.
    func end() {
        state.withLock { $0.start = nil }
    }

    private static var reads: Int {
        #if os(Linux)
            SyscallHooks.reads
        #else
            0
        #endif
    }

    /// Counts the reads before those of this connection.
    func follow(_ id: Int) {
        state.withLock { $0.innocent = id }
    }

    func read(from id: Int) {
        state.withLock { state in
            guard id == state.innocent, let start = state.start else { return }
            state.longest = max(state.longest, Self.reads - start)
        }
    }
}

extension PeerSocket {
    /// Writes what the socket takes in one call, on the caller's thread; returns false if the peer is gone.
    func sendOnce(_ bytes: [UInt8]) -> Bool {
        unsafe bytes.withUnsafeBytes { unsafe send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) } > 0
    }

    /// Writes all of it on the caller's thread; returns false if the peer is gone.
    func sendAll(_ bytes: [UInt8]) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes {
                unsafe send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }
}
