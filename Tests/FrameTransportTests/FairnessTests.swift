import Foundation
import FrameTransport
import FrameWire
import Synchronization
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
            let head = "HTTP/1.1 200 OK\r\nContent-Length: \(length)\r\nMessage-Type: \(type)\r\n\(fields)\r\n"
            self.init(name, Array(head.utf8) + [UInt8](repeating: 0, count: length))
        }

        init(request: String, length: Int) {
            let head = "POST /\(request) HTTP/1.1\r\nContent-Length: \(length)\r\n\r\n"
            self.init(
                "\(request) with \(length) bytes",
                Array(head.utf8) + [UInt8](repeating: 0, count: length)
            )
        }
    }

    private static let audioFields = "Audio-Kind: app\r\nAudio-Sample-Rate: 44100\r\nAudio-Channels: 1\r\n"
    private static let statusFields = "Sender-State: live\r\nControl-Version: 1\r\n"

    /// Of audio and statuses some lengths are errors, which end the connection: such a peer comes back at once.
    private static let messages: [Flood] =
        [0, 1].flatMap { length in
            [
                Flood("an unknown kind, \(length) bytes", type: "later", length: length),
                Flood("audio, \(length) bytes", type: "audio", length: length, fields: audioFields),
                Flood("a status, \(length) bytes", type: "status", length: length, fields: statusFields),
                Flood("a frame, \(length) bytes", message([UInt8](repeating: 0, count: length))),
            ]
        } + [Flood("audio, 2 bytes", type: "audio", length: 2, fields: audioFields)]

    private static let requests: [Flood] =
        [0, 1].flatMap { length in
            ["dance", "pause", "resume", "refresh", "prefer"].map { Flood(request: $0, length: length) }
        } + [
            Flood("hello", ControlRequest.hello(ControlHello(wants: [.pictures, .audio])).encoded()),
            Flood("ping", ControlRequest.ping(7).encoded()),
        ]

    /// Runs `body` while two threads call `work` again and again.
    private func during(_ work: @escaping @Sendable (Flag) -> Void, _ body: () async throws -> Void) async throws {
        let isOver = Flag()
        defer { isOver.set() }
        for _ in 0..<2 { Thread.detachNewThread { while !isOver.isSet { work(isOver) } } }
        try await body()
    }

    @Test(arguments: messages)
    func `a sender that floods a server leaves the others their turns`(flood: Flood) async throws {
        let directory = try TemporaryDirectory()
        // So that the flood is read as fast as it comes, although nobody consumes it.
        let server = try directory.server { $0.delivery = .newest }
        let path = directory.socket
        let innocent = try RawSocket.connected(to: path)
        let connection = try #require(try await firstConnection(of: server))
        try await during { isOver in
            guard let flooder = try? RawSocket.connected(to: path) else { return }
            while !isOver.isSet, flooder.sendOnce(flood.bytes) {}
        } _: {
            let received = try await soon {
                var frames = connection.frames.makeAsyncIterator()
                for round in 0..<60 {
                    try await innocent.write(message(body(round, count: 20_000)))
                    guard try await frames.next()?.jpeg.array() == body(round, count: 20_000) else { return round }
                }
                return 60
            }
            #expect(received == 60, "the innocent sender's frames do not get through")
            server.close()
        }
    }

    @Test(arguments: requests)
    func `a receiver that floods its sender leaves the others their turns`(flood: Flood) async throws {
        let hostile = try TemporaryDirectory()
        let listener = try RawSocket.bound(to: hostile.socket)
        let flooded = hostile.connection { $0.reopens = false }
        try await flooded.open(within: nil)
        let host = try await listener.accepted()
        try await host.write(ControlRequest.hello(ControlHello()).encoded())

        let directory = try TemporaryDirectory()
        let server = try directory.server()
        let sender = directory.connection()
        try await sender.open(within: nil)
        let connection = try #require(try await firstConnection(of: server))
        let turn = Mutex(())
        try await during { isOver in
            turn.withLock { _ in if !isOver.isSet, !host.sendAll(flood.bytes) { isOver.set() } }
        } _: {
            let received = try await soon {
                var frames = connection.frames.makeAsyncIterator()
                for round in 0..<60 {
                    try await sender.send(FrameMessage(body(round, count: 20_000)))
                    guard try await frames.next()?.jpeg.array() == body(round, count: 20_000) else { return round }
                }
                return 60
            }
            #expect(received == 60, "the innocent sender's frames do not get through")
            flooded.close()
            host.close()
        }
    }

    @Test func `a turn of a sender of large frames is bounded in bytes`() async throws {
        let directory = try TemporaryDirectory()
        let written = Atomic(0)
        let delegate = Arrivals()
        let server = try directory.server(delegate: delegate)
        let innocent = try RawSocket.connected(to: directory.socket)
        let flooder = try RawSocket.connected(to: directory.socket)
        let large = message(body(1, count: 32 << 20))
        let isOver = Flag()
        Thread.detachNewThread {
            while !isOver.isSet {
                var rest = large[...]
                while !rest.isEmpty, flooder.sendOnce(rest.prefix(64 << 10)) {
                    written.add(min(rest.count, 64 << 10), ordering: .sequentiallyConsistent)
                    rest = rest.dropFirst(64 << 10)
                }
                if !rest.isEmpty { return }
            }
        }
        defer { isOver.set() }
        #expect(await becomesTrue { written.load(ordering: .sequentiallyConsistent) > 4 * large.count })
        // How much of the other sender's the server reads before it comes to a small frame that has been written.
        var between: [Int] = []
        let small = message([1, 2, 3])
        for round in 1...41 {
            delegate.read = { written.load(ordering: .sequentiallyConsistent) }
            #expect(innocent.sendOnce(small))
            let start = written.load(ordering: .sequentiallyConsistent)
            try #require(await becomesTrue { delegate.arrivals.count == round })
            between.append(max(0, delegate.arrivals[round - 1] - start))
        }
        between.sort()
        #expect(between[20] <= 2 << 20, "half of the time it is more than 2 MiB: \(between)")
        server.close()
    }
}

/// Notes, on the server's thread, what `read` returns whenever a small frame arrives.
private final class Arrivals: FrameServerDelegate {
    private struct State {
        var arrivals: [Int] = []
        var read: @Sendable () -> Int = { 0 }
    }

    private let state = Mutex(State())

    var arrivals: [Int] { state.withLock(\.arrivals) }

    var read: @Sendable () -> Int {
        get { state.withLock(\.read) }
        set { state.withLock { $0.read = newValue } }
    }

    func connectionDidOpen(_ connection: FrameConnection) {}

    func connection(_ connection: FrameConnection, didReceive frame: Frame) {
        guard frame.jpeg.count == 3 else { return }
        state.withLock { $0.arrivals.append($0.read()) }
    }

    func connection(_ connection: FrameConnection, didCloseFor reason: CloseReason) {}
}

extension RawSocket {
    /// Writes what the socket takes in one call, on the caller's thread; returns false if the peer is gone.
    func sendOnce(_ bytes: some Collection<UInt8> & ContiguousBytes) -> Bool {
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
