import Foundation
import FrameSocketTesting
import TestSupport
import Testing

/// Senders of other projects, or that write as the deployed ones do, into `framesocket receive`.
@Suite(.serialized) struct ForeignSenderTests {
    private let place: Workplace

    init() throws {
        place = try Workplace()
    }

    @Test func `two shell commands and socat make a sender`() async throws {
        let receiver = try await place.receiver(
            "--count",
            "100",
            "--decode",
            "--json",
            "--output",
            place.path("out")
        )
        let names = ["411", "420", "422", "440", "444", "phone", "gray", "420", "440", "444"].map {
            $0 == "phone" ? "phone-563x1219" : "chelsea-\($0)"
        }
        let files = names.map { Places.fixture("jpeg/\($0).jpg") }
        // Ten files ten times, each with its own size.
        let sender = try place.start(
            "/bin/sh",
            [Places.package + "Tests/Peers/send_files.sh", place.socket, "10"]
                + files.flatMap { [$0] + ($0.contains("phone") ? ["562", "1218"] : ["451", "300"]) }
        )
        #expect(await sender.ended().status == 0)
        let ending = await receiver.ended()
        #expect(ending.status == 0)
        let frames = try ending.events("frame")
        #expect(frames.map { $0["index"] } == Array(0..<100))
        #expect(try ending.events("error") == [])
        let sent = try files.map { try Data.bytes(at: $0) }
        #expect(try place.contents(of: "out") == Array(repeating: sent, count: 10).flatMap(\.self))
    }

    @Test(arguments: ["older", "current", "both"])
    func `a hundred frames of an existing Jitsi sender arrive unchanged`(order: String) async throws {
        let paths = ["chelsea-420", "chelsea-444", "chelsea-gray", "chelsea-exif-6"].map {
            Places.fixture("jpeg/\($0).jpg")
        }
        let receiver = try await place.receiver("--json", "--output", place.path("out"))
        let sender = try place.start(
            Places.python,
            ["-B", Places.peer("send_deployed"), place.socket, "--order", order, "--loop", "25", "--orientation", "6"]
                + paths
        )
        let ending = await sender.ended()
        #expect(ending.status == 0, "\(ending)")
        #expect(try ending.events.map(\.values) == [["event": "sent", "frames": 100]])
        try await receiver.lines(103)
        receiver.send(.interrupt)
        let events = try await receiver.ended().events
        #expect(events.map(\.name) == ["listening", "connected"] + Array(repeating: "frame", count: 100) + ["closed"])
        #expect(events.allSatisfy { $0.name != "frame" || $0["orientation"] == 6 && $0["rotation"] == 270 })
        #expect(events.last?.text("reason") == "closedByPeer")
        let sent = try paths.map { try Data.bytes(at: $0) }
        #expect(try place.contents(of: "out") == Array(repeating: sent, count: 25).flatMap(\.self))
    }

    @Test(arguments: RecordedStream.all, ["all", "random", "slow"])
    func `the streams of the fixtures are read correctly however they are cut`(
        stream: RecordedStream,
        chunk: String
    ) async throws {
        let receiver = try await place.receiver("--decode", "--json", "--output", place.path("out"))
        let sender = try place.peer("send_stream", stream.path, "--chunk", chunk, "--seed", "7")
        let sending = await sender.ended()
        #expect(sending.status == 0, "\(sending)")
        try #require(await becomesTrue { receiver.hasPrinted(#""event":"closed""#) })
        receiver.send(.interrupt)
        let ending = await receiver.ended()
        let events = try ending.events
        let ends = stream.cut == nil ? ["closed"] : ["error", "closed"]
        #expect(events.map(\.name) == ["listening", "connected"] + stream.frames.map { _ in "frame" } + ends)
        for (index, (event, frame)) in zip(try ending.events("frame"), stream.frames).enumerated() {
            let values: [String: Int] = [
                "index": index, "width": frame.width, "height": frame.height, "orientation": frame.orientation,
                "rotation": frame.rotation, "bytes": frame.body.count, "jpegWidth": frame.jpegWidth,
                "jpegHeight": frame.jpegHeight,
            ]
            for (key, value) in values { #expect(event[key] == value, "\(key) of frame \(index)") }
        }
        #expect(try place.contents(of: "out") == stream.bodies)
        if let cut = stream.cut, let error = try ending.events("error").first {
            let message = error.text("message") ?? ""
            #expect(error.text("code") == (cut.part == .body ? "body.truncated" : "head.truncated"))
            if let whole = cut.bodyCount { #expect(message.contains("\(cut.count) of \(whole) bytes")) }
        }
    }
}
