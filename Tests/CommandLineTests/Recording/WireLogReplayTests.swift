import Foundation
import FrameSocketTesting
import TestSupport
import Testing

@testable import FrameSocketTool

/// `framesocket replay` with a wire log: servers that do not read, and paths that are hard to reach.
@Suite(.serialized) struct WireLogReplayTests {
    private let place: Workplace

    init() throws {
        place = try Workplace()
    }

    /// Writes the log of one connection, and returns its path.
    private func log(_ bytes: [UInt8], closes: Bool = true, named name: String = "log") throws -> String {
        let path = place.path(name)
        let writer = WireLogWriter { _ in }
        try writer.open(path)
        writer.connectionDidOpen(1)
        writer.connection(1, didRead: bytes.span)
        if closes { writer.connectionDidClose(1) }
        return path
    }

    @Test func `bytes of a connection that was never opened are bad data`() async throws {
        let path = place.path("log")
        let writer = WireLogWriter { _ in }
        try writer.open(path)
        writer.connection(1, didRead: [1, 2, 3].span)
        let ending = try await place.framesocket(["replay", place.socket, path, "--json"]).ended()
        #expect(ending.status == 65 && ending.errors.contains("never opened"), "\(ending)")
        #expect(try ending.events.map(\.name) == ["sent", "failed"])
    }

    #if os(Linux)
        /// What a server reads before it stops reading.
        enum Stall: CaseIterable, Sendable {
            /// It does not even accept.
            case nothing
            /// One byte of more than a socket holds.
            case ofMany
            /// One byte of a few, which the socket holds, and of a connection that the log closes or does not close.
            case ofFew, ofFewUnclosed
        }

        // All at once, because each takes the time that a server may leave everything unread.
        @Test func `a server that does not read is a failure with exit code 75`() async throws {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for stall in Stall.allCases { group.addTask { try await replay(to: stall) } }
                try await group.waitForAll()
            }
        }

        private func replay(to stall: Stall) async throws {
            let bytes = [UInt8](repeating: 1, count: stall == .ofMany ? 4 << 20 : 1000)
            let file = try log(bytes, closes: stall != .ofFewUnclosed, named: "\(stall).log")
            let path = place.path("\(stall)")
            let server = try PeerSocket.listening(at: path)
            let replay = try place.framesocket(["replay", path, file, "--speed", "0", "--json"])
            var connection: PeerSocket?
            if stall != .nothing {
                connection = try await server.accepted()
                #expect(try await connection?.read(1) == [1])
            }
            let ending = await replay.ended()
            #expect(ending.status == 75 && ending.errors.contains("does not read"), "\(stall): \(ending)")
            #expect(try ending.events.map(\.name) == ["sent", "failed"])
            connection?.close()
            server.close()
        }

        @Test func `a server that reads slowly gets every byte`() async throws {
            let bytes = (0..<2 << 20).map { UInt8(truncatingIfNeeded: $0 &* 31) }
            let file = try log(bytes)
            let server = try PeerSocket.listening(at: place.socket)
            let replay = try place.framesocket(["replay", place.socket, file, "--speed", "0"])
            let connection = try await server.accepted()
            var read: [UInt8] = []
            while true {
                let piece = try await connection.readSome(upTo: 4096)
                if piece.isEmpty { break }
                read += piece
            }
            #expect(read == bytes)
            connection.close()
            let ending = await replay.ended()
            #expect(ending.status == 0, "\(ending)")
            server.close()
        }

        @Test(arguments: [true, false])
        func `a connection that the server closes before it has read everything is counted`(closes: Bool) async throws {
            try await checkCut(replaying: try log([1, 2, 3], closes: closes), after: [1, 2])
        }

        /// Replays a log to a server that reads some bytes and closes the connection.
        private func checkCut(replaying file: String, after bytes: [UInt8]) async throws {
            let server = try PeerSocket.listening(at: place.socket)
            let replay = try place.framesocket(["replay", place.socket, file, "--speed", "0", "--json"])
            let connection = try await server.accepted()
            // The second byte is written once the first is known to be read.
            #expect(try await connection.read(bytes.count) == bytes)
            connection.close()
            let ending = await replay.ended()
            #expect(ending.status == 0, "\(ending)")
            #expect(try ending.events.map(\.name) == ["error", "sent"])
            let output = String(decoding: ending.output, as: UTF8.self)
            #expect(output.contains(#""broken":1"#) && output.contains("connection.lost"), "\(ending)")
            server.close()
        }

        @Test func `a server that reads the first byte and closes has rejected it`() async throws {
            try await checkCut(replaying: try log([1, 2]), after: [1])
        }

        @Test func `bytes after those that a server has not read are skipped`() async throws {
            let path = place.path("log")
            let writer = WireLogWriter { _ in }
            try writer.open(path)
            writer.connectionDidOpen(1)
            // The first are more than a socket holds.
            for count in [4 << 20, 1] { writer.connection(1, didRead: [UInt8](repeating: 1, count: count).span) }
            try await checkCut(replaying: path, after: [1, 1])
        }

        @Test func `a server that does not close does not delay the end`() async throws {
            let server = try PeerSocket.listening(at: place.socket)
            let replay = try place.framesocket(["replay", place.socket, try log([1, 2, 3]), "--speed", "0"])
            let connection = try await server.accepted()
            #expect(try await connection.read(3) == [1, 2, 3])
            let ending = await replay.ended()
            #expect(ending.status == 0, "\(ending)")
            connection.close()
            server.close()
        }

        @Test func `a server whose queue is full is a failure once --wait is over`() async throws {
            let server = try PeerSocket.listening(at: place.socket, backlog: 0)
            let waiting = try PeerSocket.connected(to: place.socket)
            let ending = try await place.framesocket(["replay", place.socket, try log([1]), "--wait", "0.2"]).ended()
            #expect(ending.status == 69 && ending.errors.contains("no server was reached"), "\(ending)")
            waiting.close()
            server.close()
        }

        @Test func `a path of more than 300 bytes works like any other`() async throws {
            let deep = place.directory + String(repeating: "/" + String(repeating: "d", count: 99), count: 3)
            try FileManager.default.createDirectory(atPath: deep, withIntermediateDirectories: true)
            let image = try Data.bytes(at: Places.fixture("jpeg/chelsea-420.jpg"))
            let file = try log(message(image))
            let receiver = try place.framesocket(["receive", deep + "/s", "--count", "1", "--json"])
            _ = try await receiver.lines(1)
            for arguments in [["replay", deep + "/s", file], ["replay", file, deep + "/t", "--wait", "0.1"]] {
                let isThere = arguments[1] == deep + "/s"
                let ending = try await place.framesocket(arguments).ended()
                #expect(ending.status == (isThere ? 0 : 69), "\(ending)")
            }
            #expect(try await receiver.ended().events("frame").count == 1)
        }
    #endif

    @Test func `a log without a record is replayed at once, however often`() async throws {
        let file = try place.file("empty", WireLog.magic)
        let ending = try await place.framesocket(["replay", file, place.socket, "--loop", "0"]).ended()
        #expect(ending.status == 0, "\(ending)")
    }

    @Test(arguments: [
        (73, "$D/$(printf '%0120d' 0)", "120"), (73, "$D/x/", "ends with a slash"),
        (69, "$D/none/s", "no server was reached"), (73, "$D/log", "not a socket"),
        (69, "$D/log/s", "Not a directory"),
    ])
    func `a path that is unusable fails as it does for send`(code: Int32, path: String, reason: String) async throws {
        _ = try log([1])
        let image = Places.fixture("jpeg/chelsea-420.jpg")
        let sent = try await place.shell("$F send \(path) '\(image)' --wait 0.1 --quiet").ended()
        let replayed = try await place.shell("$F replay \(path) $D/log --wait 0.1 --quiet").ended()
        #expect(sent.status == code && replayed.status == code && replayed.errors.contains(reason), "\(replayed)")
        #expect(replayed.errors == sent.errors.replacingOccurrences(of: "framesocket send", with: "framesocket replay"))
    }
}
