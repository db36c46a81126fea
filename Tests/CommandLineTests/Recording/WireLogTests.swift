import Foundation
import FrameSocketTesting
import Testing

@testable import FrameSocketTool

/// Wire logs (`receive --wire-log`): what is in them, and that a replay of one is what was received.
@Suite(.serialized) struct WireLogTests {
    private let place: Workplace

    init() throws {
        place = try Workplace()
    }

    /// Logs what a peer sends, and gives the log's records.
    private func log(_ stream: String) async throws -> (records: [WireLog.Record], events: [Event]) {
        let arguments = ["receive", place.socket, "--json", "--wire-log", place.path("log")]
        let (taken, _) = try await place.take(arguments) { try await place.peer("send_stream", stream).ended() }
        return (try records(place.path("log")), try taken.events)
    }

    private func records(_ path: String) throws -> [WireLog.Record] {
        var reader = try WireLogReader(InputFile(path))
        var records: [WireLog.Record] = []
        while let record = try reader.next() { records.append(record) }
        return records
    }

    @Test(arguments: RecordedStream.all)
    func `a wire log contains every byte that was read, valid or not`(stream: RecordedStream) async throws {
        let (records, events) = try await log(stream.path)
        let read = records.flatMap(\.bytes)
        if stream.cut == nil {
            #expect(read == stream.bytes)
        } else {
            // What follows the fault need not be read.
            #expect(stream.bytes.starts(with: read) && read.count >= min(stream.bytes.count, stream.cut?.count ?? 0))
        }
        #expect(records.first?.kind == .opened && records.last?.kind == .closed)
        #expect(records.allSatisfy { $0.connection == 1 })
        #expect(records.map(\.time) == records.map(\.time).sorted())
        // Replayed, the receiver says the same once more.
        let (again, sent) = try await place.take(["receive", place.socket, "--json"]) {
            try await place.framesocket(["replay", place.path("log"), place.socket, "--speed", "0", "--json"]).ended()
        }
        #expect(sent.status == 0, "\(sent)")
        let kinds: Set = ["frame", "error"]
        #expect(
            try again.events.filter { kinds.contains($0.name ?? "") } == events.filter { kinds.contains($0.name ?? "") }
        )
    }

    @Test func `connections that overlapped overlap again in a replay`() async throws {
        let arguments = ["receive", place.socket, "--json", "--count", "6", "--wire-log", place.path("log")]
        let receiver = try place.framesocket(arguments)
        _ = try await receiver.lines(1)
        let senders = try (0..<2).map { number in
            try place.shell(
                "{ for i in 1 2 3; do cat $X/jpeg/chelsea-42\(number == 0 ? "0" : "2").jpg; sleep 0.05; done; sleep 1; } |"
                    + " $F send $S - --passthrough --quiet"
            )
        }
        for sender in senders { _ = await sender.ended() }
        #expect(await receiver.ended().status == 0)
        let logged = try records(place.path("log"))
        #expect(Set(logged.map(\.connection)) == [1, 2])
        let again = try place.framesocket(["receive", place.socket, "--json", "--count", "6"])
        _ = try await again.lines(1)
        let sent = try await place.framesocket(["replay", place.path("log"), place.socket]).ended()
        #expect(sent.status == 0 && sent.errors.contains("2 connections"), "\(sent)")
        let events = try await again.ended().events("frame")
        #expect(events.count == 6 && Set(events.map { $0["connection"] }) == [1, 2])
    }

    @Test func `a wire log cut off at any byte ends with its last complete record`() throws {
        let file = place.path("log")
        do {
            let writer = WireLogWriter { _ in }
            try writer.open(file)
            writer.connectionDidOpen(1)
            let bytes: [UInt8] = [1, 2, 3, 4, 5]
            writer.connection(1, didRead: bytes.span)
            writer.connectionDidClose(1)
        }
        let whole = try Data.bytes(at: file)
        #expect(whole.count == WireLog.magic.count + 3 * 20 + 5)
        for length in WireLog.magic.count..<whole.count {
            var reader = try WireLogReader(InputFile(Array(whole.prefix(length)), name: "cut"))
            var count = 0
            while try reader.next() != nil { count += 1 }
            let rest = length - WireLog.magic.count
            #expect(count == (rest >= 45 ? 2 : rest >= 20 ? 1 : 0))
            #expect(reader.isCut == ![0, 20, 45].contains(rest), "\(rest)")
        }
    }

    @Test func `a log that cannot be written ends the reception`() async throws {
        let receiver = try place.framesocket(["receive", place.socket, "--wire-log", "/dev/full"])
        let ending = await receiver.ended()
        #expect(ending.status == 73 && ending.errors.contains("/dev/full"), "\(ending)")
    }

    @Test func `tokens are not logged`() async throws {
        let token = try place.secret("token", Array("a secret of sixteen bytes or more".utf8))
        let arguments = [
            "receive", place.socket, "--json", "--wire-log", place.path("log"), "--token-file", token,
        ]
        _ = try await place.take(arguments) {
            try await place.send(
                Places.fixture("jpeg/chelsea-420.jpg"),
                "--token-file",
                token,
                "--passthrough",
                "--quiet"
            )
        }
        let bytes = try records(place.path("log")).flatMap(\.bytes)
        #expect(bytes.starts(with: Array("HTTP/1.1 200".utf8)))
    }

    #if os(Linux)
        @Test(.enabled(if: geteuid() == 0, "only root may become another user"))
        func `nothing of a wire log is written to another user's server`() async throws {
            _ = try await log(RecordedStream.all[0].path)
            let server = try await place.foreignServer(at: "t")
            let ending = try await place.shell("$F replay $D/log $D/t --speed 0").ended()
            #expect(ending.status == 69 && ending.errors.contains("belongs to user 65534"), "\(ending)")
            #expect(await server.ended().text == "listening\n0\n")
        }
    #endif
}
