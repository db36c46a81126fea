import Foundation
import Testing

/// Every event that `--json` prints is one that docs/events.schema.json describes.
@Suite(.serialized) struct JSONEventTests {
    private let place: Workplace
    private let jpeg = Places.fixture("jpeg/chelsea-420.jpg")

    init() throws {
        place = try Workplace()
    }

    /// The names of the events in `lines`, each of which must fit the schema.
    private func events(in lines: [String]) async throws -> Set<String> {
        let file = try place.file("events", Array(lines.map { $0 + "\n" }.joined().utf8))
        let arguments = ["-B", Places.peer("check_events")]
        let program = try Program(Places.python, arguments, input: .file(file))
        let ending = await program.ended()
        #expect(ending.status == 0, "\(ending)")
        return Set(ending.lines)
    }

    @Test func `what the commands print fits the schema`() async throws {
        let path = place.path("t")
        let receiver = try await place.receiver("--json", "--decode", "--stats", "json", "--prefer-quality", "50")
        var lines = try await place.send(jpeg, "--json").lines
        let bad = try place.file("bad.jpg", [1, 2, 3])
        lines += try await place.send(bad, jpeg, "--json").lines
        lines += try await place.peer("send_stream", Places.fixture("streams/cut-in-head.http")).ended().lines
        receiver.send(.interrupt)
        lines += await receiver.ended().lines

        let log = place.path("log")
        let logger = try await place.receiver("--json", "--count", "1", "--wire-log", log)
        lines += try await place.send(jpeg, "--json").lines
        lines += await logger.ended().lines

        let recorder = try place.framesocket(["record", path, place.path("r.mkv"), "--once", "--json"])
        let sender = try place.framesocket(["send", path, jpeg, "--json", "--wait", "60"])
        lines += await sender.ended().lines + recorder.ended().lines
        for file in ["r.mkv", "log"] {
            let receiver = try await place.receiver("--json", "--count", "1")
            lines += try await place.framesocket(["replay", place.socket, place.path(file), "--json"]).ended().lines
            lines += await receiver.ended().lines
        }

        let preview = try place.framesocket(["preview", path, "--http", "127.0.0.1:0", "--json"])
        try await preview.lines(2)
        lines += try await place.framesocket(["doctor", path, "--json"]).ended().lines
        preview.send(.interrupt)
        lines += await preview.ended().lines
        // Failures are events too.
        lines += try await place.framesocket(["send", path, jpeg, "--json", "--wait", "0.1"]).ended().lines
        lines += try await place.framesocket(["receive", "/none/s", "--json"]).ended().lines

        let names = try await events(in: lines)
        let expected: Set = [
            "listening", "connected", "frame", "status", "statistics", "error", "closed", "sent", "recorded", "preview",
            "diagnosis", "failed",
        ]
        #expect(names == expected)
    }

    @Test(arguments: [
        ("$F send $D/none $X/jpeg/chelsea-420.jpg --json --wait 0.1 --quiet", 69),
        ("$F receive $D/none/s --json --quiet", 73), ("$F receive $S --json --quiet --count 1 --timeout 0.1", 75),
        ("$F record $D/none/s $D/r.mkv --json", 73), ("$F replay $S $D/none --json", 66),
        ("$F preview $D/none/s --json --http 127.0.0.1:0", 73),
    ])
    func `a failure is the last event and carries the exit code`(command: String, code: Int32) async throws {
        let ending = try await place.shell(command).ended()
        let last = try #require(try ending.events.last)
        #expect(ending.status == code && last.name == "failed" && last["exitCode"] == Int(code), "\(ending)")
        #expect(ending.errors.contains(last.text("message") ?? "?"))
    }

    @Test(arguments: [
        #"{"event":"frame"}"#, #"{"event":"closing","connection":1}"#, #"{"event":"listening","path":"/s","port":1}"#,
    ])
    func `the schema rejects other lines`(line: String) async throws {
        let file = try place.file("events", Array((line + "\n").utf8))
        let program = try Program(Places.python, ["-B", Places.peer("check_events")], input: .file(file))
        #expect(await program.ended().status == 1)
    }
}
