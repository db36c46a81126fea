import Foundation
import FrameSocketTesting
import TestSupport
import Testing

/// Senders of other projects, or that write as the deployed ones do, into `framesocket receive`.
@Suite(.serialized) struct ForeignSenderTests {
    private let place = Workplace.new

    /// It reads every request byte by byte, and drops it.
    @Test(arguments: ["older", "current", "both"])
    func `a hundred frames of an existing Jitsi sender arrive unchanged, whatever is asked of it`(order: String)
        async throws
    {
        let paths = ["chelsea-420", "chelsea-444", "chelsea-gray", "chelsea-exif-6"].map {
            Places.fixture("jpeg/\($0).jpg")
        }
        let requests = ["--prefer-rate", "5", "--prefer-quality", "10", "--audio", place.path("none.wav")]
        let receiver = try await place.receiver(["--json", "--output", place.path("out")] + requests)
        let options = ["--order", order, "--loop", "25", "--orientation", "6"]
        let sender = try place.start(
            Places.python,
            ["-B", Places.peer("send_deployed"), place.socket] + options + paths
        )
        let ending = await sender.ended(0)
        #expect(try ending.events.map(\.values) == [["event": "sent", "frames": 100]])
        try await receiver.lines(103)
        let events = try await receiver.ended(by: .terminate).events
        #expect(events.map(\.name) == ["listening", "connected"] + Array(repeating: "frame", count: 100) + ["closed"])
        #expect(events.allSatisfy { $0.name != "frame" || $0["orientation"] == 6 && $0["rotation"] == 270 })
        #expect(events.last?.text("reason") == "closedByPeer" && events.last?.text("finish") == "stoppedByUser")
        let sent = try paths.map { try Data.bytes(at: $0) }
        #expect(try place.contents(of: "out") == Array(repeating: sent, count: 25).flatMap(\.self))
    }

    @Test(arguments: RecordedStream.all)
    func `the streams of the fixtures are read correctly, cut anywhere`(stream: RecordedStream) async throws {
        let receiving = ["receive", place.socket, "--decode", "--json", "--output", place.path("out")]
        let ending = try await place.take(receiving) {
            try await place.peer("send_stream", stream.path, "--chunk", "random", "--seed", "7").ended(0)
        }.taken
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
