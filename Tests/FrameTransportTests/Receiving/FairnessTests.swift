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
    /// Messages that a peer repeats as fast as it can.
    struct Flood: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let bytes: [UInt8]

        init(_ name: String, _ message: [UInt8]) {
            testDescription = name
            // As many as a socket's buffer takes at once, so that the peer is never the slower one.
            bytes = Array(repeatElement(message, count: max(1, (256 << 10) / message.count)).joined())
        }

        init(_ name: String, type: String, length: Int, fields: String = "") {
            let header = "HTTP/1.1 200 OK\r\nContent-Length: \(length)\r\nMessage-Type: \(type)\r\n\(fields)\r\n"
            self.init(name, Array(header.utf8) + [UInt8](repeating: 0, count: length))
        }

        init(request: String, length: Int) {
            let header = "POST /\(request) HTTP/1.1\r\nContent-Length: \(length)\r\n\r\n"
            self.init(
                "\(request) with \(length) bytes",
                Array(header.utf8) + [UInt8](repeating: 0, count: length)
            )
        }
    }

    /// One for each way to handle a message.
    ///
    /// Audio without samples is an error, which ends the connection: its peer comes back.
    private static let messages = [
        Flood("an unknown kind", type: "later", length: 0),
        Flood("a frame", message([0])),
        Flood("a status", type: "status", length: 0, fields: "Sender-State: live\r\nControl-Version: 1\r\n"),
        Flood(
            "audio without samples",
            type: "audio",
            length: 0,
            fields: "Audio-Kind: app\r\nAudio-Sample-Rate: 44100\r\nAudio-Channels: 1\r\n"
        ),
    ]

    /// Unknown, obeyed, and answered.
    private static let requests = [
        Flood(request: "dance", length: 1),
        Flood(request: "pause", length: 0),
        Flood("ping", ControlRequest.ping(7).encoded()),
    ]

    /// Runs `body` while two threads call `work` again and again.
    private func during(_ work: @escaping @Sendable (Flag) -> Void, _ body: () async throws -> Void) async throws {
        let isOver = Flag()
        defer { isOver.set() }
        for _ in 0..<2 { Thread.detachNewThread { while !isOver.isSet { work(isOver) } } }
        try await body()
    }

    /// Shows P151.
    @Test(.tooSlow(for: .brief), arguments: messages)
    func `a sender that floods a server leaves the others their turns`(flood: Flood) async throws {
        let directory = try TemporaryDirectory()
        // So that the flood is read as fast as it comes, although nobody consumes it.
        let turns = Turns()
        let server = try directory.server {
            $0.delivery = .newest
            $0.onRead = { id, _ in turns.read(from: id) }
        }
        let path = directory.socket
        let innocent = try PeerSocket.connected(to: path)
        let connection = try #require(try await firstConnection(of: server))
        turns.follow(connection.id)
        try await during { isOver in
            guard let flooder = try? PeerSocket.connected(to: path) else { return }
            while !isOver.isSet, flooder.sendOnce(flood.bytes) {}
        } _: {
            let received = try await soon {
                var frames = connection.frames.makeAsyncIterator()
                for round in 0..<30 {
                    try await innocent.write(message(body(round, count: 20_000)))
                    turns.begin()
                    guard try await frames.next()?.jpeg?.array() == body(round, count: 20_000) else { return round }
                    turns.end()
                }
                return 30
            }
            #expect(received == 30, "the innocent sender's frames do not get through")
            #expect(turns.longest <= Turns.limit, "\(turns.longest) reads came before its turn")
            server.close()
        }
    }

    /// Shows P151.
    @Test(.tooSlow(for: .brief), arguments: requests)
    func `a receiver that floods its sender leaves the others their turns`(flood: Flood) async throws {
        let hostile = try TemporaryDirectory()
        let listener = try PeerSocket.listening(at: hostile.socket)
        let flooded = hostile.connection { $0.reopens = false }
        try await flooded.open(within: nil)
        let host = try await listener.accepted()
        try await host.write(ControlRequest.hello(ControlRequest.Hello()).encoded())

        let directory = try TemporaryDirectory()
        let turns = Turns()
        let server = try directory.server { $0.onRead = { id, _ in turns.read(from: id) } }
        let sender = directory.connection()
        try await sender.open(within: nil)
        let connection = try #require(try await firstConnection(of: server))
        turns.follow(connection.id)
        let turn = Locked(())
        try await during { isOver in
            turn.withLock { _ in if !isOver.isSet, !host.sendAll(flood.bytes) { isOver.set() } }
        } _: {
            let received = try await soon {
                var frames = connection.frames.makeAsyncIterator()
                for round in 0..<30 {
                    try await sender.send(FrameMessage(body(round, count: 20_000)))
                    turns.begin()
                    guard try await frames.next()?.jpeg?.array() == body(round, count: 20_000) else { return round }
                    turns.end()
                }
                return 30
            }
            #expect(received == 30, "the innocent sender's frames do not get through")
            #expect(turns.longest <= Turns.limit, "\(turns.longest) reads came before its turn")
            flooded.close()
            host.close()
        }
    }

    /// Shows P151.
    @Test(.tooSlow(for: .brief))
    func `a turn of a sender of large frames is bounded in bytes`() async throws {
        let directory = try TemporaryDirectory()
        let arrivals = Arrivals()
        let server = try directory.server { $0.onRead = { arrivals.read($1.count) } }
        server.consumeOnThreads { _, frame in arrivals.note(frame) }
        let innocent = try PeerSocket.connected(to: directory.socket)
        await server.settle()
        let flooder = try PeerSocket.connected(to: directory.socket)
        let large = message(body(1, count: 32 << 20))
        let isOver = Flag()
        defer { isOver.set() }
        Thread.detachNewThread { while !isOver.isSet, flooder.sendOnce(large) {} }
        #expect(await becomesTrue { arrivals.bytes > 4 * large.count })
        // How much of the flood the server reads before it comes to a small frame that has been written.
        let small = message([1, 2, 3])
        var longest = 0
        for round in 1...200 {
            #expect(innocent.sendOnce(small))
            // Noted behind the write: whatever delays this thread makes the distance no longer than it is.
            let start = arrivals.bytes
            try #require(await becomesTrue { arrivals.positions.count == round })
            longest = max(longest, arrivals.positions[round - 1] - start)
            if longest > 4 << 20 { break }
        }
        #expect(longest <= 4 << 20, "\(longest) bytes of one sender were read before the other one's frame")
        // The system adds to a read what is written meanwhile: that has to be bounded too.
        #expect(arrivals.longestRead <= 1 << 20, "\(arrivals.longestRead) bytes were read at once")
        server.close()
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
            SyscallCount.readCount
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

/// Counts the bytes that a server reads, and notes how many they are whenever a small frame arrives.
private final class Arrivals: Sendable {
    private struct State {
        var bytes = 0
        var longestRead = 0
        var positions: [Int] = []
    }

    private let state = Locked(State())

    /// How many bytes have been read.
    var bytes: Int { state.withLock(\.bytes) }

    /// How many bytes the longest read brought.
    var longestRead: Int { state.withLock(\.longestRead) }

    /// How many bytes had been read when each of the small frames arrived.
    var positions: [Int] { state.withLock(\.positions) }

    func read(_ count: Int) {
        state.withLock { state in
            state.bytes += count
            state.longestRead = max(state.longestRead, count)
        }
    }

    func note(_ frame: Frame) {
        guard frame.jpeg?.count == 3 else { return }
        state.withLock { $0.positions.append($0.bytes) }
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
