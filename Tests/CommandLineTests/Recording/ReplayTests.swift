import Foundation
import FrameSocket
import FrameSocketTesting
import Testing

import enum TestSupport.HandmadeJPEG

@testable import FrameSocketTool

/// `framesocket replay` with a recording, which is sent again as it was received.
@Suite(.serialized) struct ReplayTests {
    private let place = Workplace.new

    private static let fixtures = ["chelsea-420", "chelsea-444", "chelsea-gray", "phone-563x1219"].map {
        Places.fixture("jpeg/\($0).jpg")
    }

    /// Records what a program sends into `$D/r.mkv`, and gives the frames' events.
    private func record(_ sender: () async throws -> Ending) async throws -> [Event] {
        let arguments = ["record", place.socket, place.path("r.mkv"), "--once", "--json"]
        let (taken, sent) = try await place.take(arguments, from: sender)
        sent.checked(0)
        return try taken.checked(0).events("frame")
    }

    /// Records what a sender writes before it ends into `$D/r.mkv`.
    private func record(_ stream: [UInt8]) async throws {
        let recorder = try place.framesocket(["record", place.socket, place.path("r.mkv"), "--once", "--json"])
        try await recorder.lines(1)
        let sender = try PeerSocket.connected(to: place.socket)
        try await sender.write(stream)
        sender.finishWriting()
        await recorder.ended(0)
        withExtendedLifetime(sender) {}
    }

    /// Replays a file to `receive`, which writes the bodies to `$D/out`; the replay ends with an exit code and these words.
    private func replay(
        _ file: String,
        _ options: [String] = ["--speed", "0"],
        _ status: Int32 = 0,
        _ words: String...
    ) async throws -> (frames: [Event], ending: Ending) {
        let arguments = ["receive", place.socket, "--json", "--output", place.path("out")]
        let (taken, sent) = try await place.take(arguments) {
            try await place.framesocket(["replay", file, place.socket, "--json"] + options).ended()
        }
        return (try taken.events("frame"), sent.checked(status, words))
    }

    private func times(_ events: [Event]) -> [Int] {
        events.map { ($0["timestamp"] ?? 0) - (events.first?["timestamp"] ?? 0) }
    }

    @Test(arguments: [("1", 1), ("0", 1), ("4", 4)])
    func `frames, sizes and times are replayed`(speed: String, divisor: Int) async throws {
        let recorded = try await record {
            let options = ["--passthrough", "--loop", "10", "--fps", "80"]
            return try await place.framesocket(["send", place.socket] + Self.fixtures + options).ended()
        }
        try #require(recorded.count == 40)
        let (frames, ending) = try await replay(place.path("r.mkv"), ["--speed", speed])
        try #require(frames.count == 40)
        #expect(times(frames) == times(recorded).map { $0 / divisor })
        #expect(frames.map { $0["width"] } == recorded.map { $0["width"] })
        let expected = try Self.fixtures.map { try Data.bytes(at: $0) }
        let bodies = try place.contents(of: "out")
        for (index, body) in bodies.enumerated() { #expect(body.starts(with: expected[index % 4])) }
        let sent = try #require(try ending.events.first)
        #expect(sent["frames"] == 40 && sent["bytes"] == 10 * expected.reduce(0) { $0 + $1.count })
    }

    @Test func `players see the orientation of the wire alone, and a JPEG's own is replayed with it`() async throws {
        let photo = try Data.bytes(at: Places.fixture("jpeg/chelsea-exif-6.jpg"))
        // Where that fixture has the number 6.
        var upright = photo
        upright[49] = 1
        // One more segment, as of a JPEG that was taken from a recording.
        let twice = photo[..<2] + photo[20..<56] + upright[2...]
        let jpegs = [photo, upright, Array(twice)]
        let orientations = [1, 3, 6, 8]
        let frames = jpegs.flatMap { jpeg in orientations.map { (jpeg, $0) } }
        try await record(
            frames.flatMap { PeerMessage.frame($0.0, width: 300, height: 451, orientation: $0.1).bytes }
        )
        let facts = try await place.run(
            words: "ffprobe -v error -show_entries frame_tags=Orientation -of default=nw=1:nk=1 $D/r.mkv"
        )
        // Numbered as in Exif; ffprobe believes the last segment.
        let expected = frames.map { [1: 1, 3: 3, 6: 8, 8: 6][$0.1] }
        #expect(facts.completeLines.map { Int($0.filter { $0 != " " }) } == expected)
        // Others believe the first.
        let entries = try MatroskaContents(of: Data.bytes(at: place.path("r.mkv"))).entries
        for entry in entries {
            let bytes = entry.jpeg[...]
            let first = JPEGExif.segment(of: bytes.span)
            #expect(first?.lowerBound == 2)
            #expect(JPEGExif.segment(of: bytes.span, from: first?.upperBound ?? 0) == nil)
        }
        let replayed = try await replay(place.path("r.mkv")).frames
        #expect(replayed.map { $0["orientation"] } == frames.map(\.1))
        let bodies = try place.contents(of: "out")
        #expect(bodies.count == frames.count)
        for (body, frame) in zip(bodies, frames) {
            #expect(body.starts(with: frame.0) && body.dropFirst(frame.0.count).allSatisfy { $0 == 0 })
        }
    }

    @Test func `a recording is replayed as often as requested, at its own pace`() async throws {
        _ = try await record { try await place.send(Self.fixtures[0], "--passthrough", "--loop", "5", "--fps", "100") }
        let start = ContinuousClock.now
        let frames = try await replay(place.path("r.mkv"), ["--loop", "3"]).frames
        #expect(frames.count == 15)
        // Four times ten milliseconds, three times over, and not less.
        #expect(ContinuousClock.now - start >= .milliseconds(120))
        #expect(times(frames).last ?? 0 >= 120_000_000)
    }

    @Test func `a recording begins again a mean distance after its last event`() {
        var pace = ReplayPace(speed: 1)
        let begin = pace.timestamp
        var offsets: [UInt64] = []
        for _ in 0..<3 {
            // One time goes back, and counts as a distance of 0.
            for time: UInt64 in [500, 700, 600, 700] {
                pace.advance(to: time)
                offsets.append(pace.timestamp - begin)
            }
            pace.rewind()
        }
        #expect(offsets == [0, 200, 200, 300, 400, 600, 600, 700, 800, 1000, 1000, 1100])
    }

    @Test(arguments: [["--loop", "0"], []])
    func `a recording without a frame is an error`(options: [String]) async throws {
        _ = try await record {
            try await place.framesocket(["send", place.socket, Self.fixtures[0], "--quiet"]).ended()
        }
        let whole = try Data(contentsOf: URL(fileURLWithPath: place.path("r.mkv")))
        let cut = try place.file("cut.mkv", Array(whole.prefix(whole.count / 2)))
        let receiver = try await place.receiver()
        let replay = try place.framesocket(["replay", cut, place.socket, "--speed", "0"] + options)
        await replay.ended(65, "cut off before the first")
        _ = receiver
    }

    @Test(.needs("ffmpeg"), arguments: ["$F replay $S $D/bad.mkv", "cat $D/bad.mkv | $F replay $S -"])
    func `frames before damage are sent, and the command that is named recovers the others`(command: String)
        async throws
    {
        _ = try await record { try await place.send(Self.fixtures[0], "--passthrough", "--loop", "10") }
        var bytes = try Data.bytes(at: place.path("r.mkv"))
        bytes.remove(at: bytes.count / 2)
        _ = try place.file("bad.mkv", bytes)
        let receiver = try await place.receiver("--json")
        let replaying = try place.shell(command + " --speed 0 --json")
        await replaying.ended(65, "damaged at byte ", "ffmpeg -i FILE -c copy OUT.mkv")
        let before = try await receiver.ended(by: .interrupt).events("frame").count
        #expect(before >= 4)
        try await place.shell("ffmpeg -nostdin -v fatal -i $D/bad.mkv -c copy -y $D/good.mkv").ended(0)
        #expect(try await replay(place.path("good.mkv")).frames.count >= 9)
    }

    /// A Matroska file by ffmpeg whose frames are these bytes.
    private func foreignRecording(of frames: [[UInt8]]) async throws -> String {
        for (index, frame) in frames.enumerated() { _ = try place.file("f\(index).jpg", frame) }
        try await place.shell("ffmpeg -nostdin -v error -f image2 -i $D/f%d.jpg -c copy $D/f.mkv").ended(0)
        return place.path("f.mkv")
    }

    @Test(.needs("ffmpeg"))
    func `what other programs record behind an end marker is not sent`() async throws {
        let jpeg = try Data.bytes(at: Self.fixtures[0])
        let tails: [[UInt8]] = [[], [UInt8](repeating: 0, count: 20_000), [0x12, 0x34], jpeg]
        #expect(try await replay(foreignRecording(of: tails.map { jpeg + $0 })).frames.count == tails.count)
        #expect(try place.contents(of: "out") == tails.map { _ in jpeg })
    }

    @Test func `what was recorded behind an end marker comes back`() async throws {
        let body = try Data.bytes(at: Self.fixtures[0]) + [0x12, 0x34]
        try await record(message(body))
        #expect(try await replay(place.path("r.mkv")).frames.count == 1)
        #expect(try place.contents(of: "out") == [body])
    }

    @Test(.needs("ffmpeg"))
    func `a frame that receivers reject for its size is named, and the others are sent`() async throws {
        let jpeg = try Data.bytes(at: Self.fixtures[0])
        let huge = HandmadeJPEG.header(width: 8064, height: 6048) + [0x5A, 0xFF, 0xD9]
        let file = try await foreignRecording(of: [jpeg, huge, jpeg, jpeg])
        let words = "frame 1: 8064x6048 pixels; receivers accept at most "
        #expect(try await replay(file, ["--speed", "0"], 65, words).frames.count == 3)
    }
}
