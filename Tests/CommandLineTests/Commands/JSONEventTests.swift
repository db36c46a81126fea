import Foundation
import FrameSocketTesting
import Testing

@testable import FrameSocketTool

/// Every event that `--json` prints is one that docs/events.schema.json describes.
@Suite(.serialized) struct JSONEventTests {
    private let place = Workplace.new
    private let jpeg = Places.fixture("jpeg/chelsea-420.jpg")

    @Test func `what the commands print fits the schema`() async throws {
        let path = place.path("t")
        let receiver = try await place.receiver("--json", "--decode", "--stats", "json", "--prefer-quality", "50")
        var lines = try await place.send(jpeg, "--json").lines
        let bad = try place.file("bad.jpg", [1, 2, 3])
        lines += try await place.send(bad, jpeg, "--json").lines
        lines += try await place.peer("send_stream", Places.fixture("streams/cut-in-head.http")).ended().lines
        receiver.send(.interrupt)
        lines += await receiver.ended().lines

        let recorder = try place.framesocket(["record", path, place.path("r.mkv"), "--once", "--json"])
        let sender = try place.framesocket(["send", path, jpeg, "--json", "--wait", "60"])
        lines += await sender.ended().lines + recorder.ended().lines
        let viewer = try await place.receiver("--json", "--count", "1")
        lines += try await place.framesocket(["replay", place.socket, place.path("r.mkv"), "--json"]).ended().lines
        lines += await viewer.ended().lines

        let preview = try place.framesocket(["preview", path, "--http", "127.0.0.1:0", "--json"])
        try await preview.lines(2)
        lines += try await place.framesocket(["doctor", path, "--json"]).ended().lines
        preview.send(.interrupt)
        lines += await preview.ended().lines
        // Failures are events too.
        lines += try await place.framesocket(["send", path, jpeg, "--json", "--wait", "0.1"]).ended().lines
        lines += try await place.framesocket(["receive", "/none/s", "--json"]).ended().lines

        let names = try await place.checkSchema(of: lines)
        let expected: Set = [
            "listening", "connected", "frame", "status", "statistics", "error", "closed", "sent", "recorded", "preview",
            "diagnosis", "failed", "info",
        ]
        #expect(names == expected)
    }

    @Test(arguments: ["receive $S", "record $S $D/r.mkv", "preview $S --http 127.0.0.1:0"], Program.Signal.allCases)
    func `every connection that was reported is reported to have ended`(
        command: String,
        signal: Program.Signal
    ) async throws {
        let program = try place.shell("exec $F \(command) --json")
        try await program.lines(1)
        let peers = try (0..<(command.hasPrefix("record") ? 1 : 20)).map { _ in
            try PeerSocket.connected(to: place.socket)
        }
        for number in 1...peers.count { try await program.printed(#""event":"connected","connection":\#(number),"#) }
        let ending = await program.ended(by: signal)
        #expect(try ending.events("closed").count == peers.count, "\(ending)")
        if command.hasPrefix("record") { #expect(try ending.events.last?.name == "recorded") }
        for peer in peers { peer.close() }
    }

    @Test(arguments: [
        #"{"event":"frame"}"#, #"{"event":"sent","bytes":1,"frames":1}"#, #"{"event":"closing","connection":1}"#,
        #"{"event":"listening","path":"/s","port":1}"#,
    ])
    func `the schema rejects other lines`(line: String) async throws {
        let file = try place.file("events", Array((line + "\n").utf8))
        let program = try Program(Places.python, ["-B", Places.peer("check_events")], input: .file(file))
        await program.ended(1)
    }
}
