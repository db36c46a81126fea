import Foundation
import FrameSocket
import FrameSocketTesting
import TestSupport
import Testing

/// `framesocket record`: what ffprobe, ffmpeg, mpv and Pillow find in the file, whatever became of its writer.
@Suite(.serialized) struct RecordTests {
    private let place = Workplace.new

    /// Starts to record into `$D/r.mkv`, and waits until it listens.
    private func recorder(_ arguments: String...) async throws -> Program {
        let recorder = try place.framesocket(["record", place.socket, place.path("r.mkv"), "--json"] + arguments)
        _ = try await recorder.lines(1)
        return recorder
    }

    private static let fixtures = ["chelsea-420", "chelsea-444", "chelsea-gray", "phone-563x1219"].map {
        Places.fixture("jpeg/\($0).jpg")
    }

    /// Sends JPEGs as they are.
    private func send(_ files: [String], _ options: String...) async throws {
        try await place.framesocket(["send", place.socket] + files + ["--passthrough", "--quiet"] + options).ended(0)
    }

    /// The presentation times that ffprobe reads in a file, in nanoseconds.
    private func times(in file: String = "r.mkv") async throws -> [Int] {
        let output = try await place.run(
            words: "ffprobe -v error -show_entries packet=pts -of default=nw=1:nk=1 $D/\(file)"
        )
        return output.completeLines.compactMap { Int($0) }
    }

    /// The frames in a file, byte for byte, as ffmpeg takes them out.
    private func jpegs(in file: String = "r.mkv") async throws -> [[UInt8]] {
        try FileManager.default.createDirectory(atPath: place.path("jpegs"), withIntermediateDirectories: true)
        _ = try await place.run(
            words: "ffmpeg -nostdin -v error -i $D/\(file) -c copy -fps_mode passthrough -f image2 $D/jpegs/%06d.jpg"
        )
        return try place.contents(of: "jpegs")
    }

    // MARK: What is in the file

    @Test func `frames and times are recorded as they arrived`() async throws {
        let recorder = try await recorder("--once")
        try await send(Self.fixtures, "--loop", "25", "--fps", "100")
        let ending = await recorder.ended(0)
        let frames = try ending.events("frame")
        try #require(frames.count == 100)
        let first = try #require(frames[0]["timestamp"])
        #expect(try await times() == frames.map { ($0["timestamp"] ?? 0) - first })
        let expected = try Self.fixtures.map { try Data.bytes(at: $0) }
        let received = try await jpegs()
        #expect(received.count == 100 && received.enumerated().allSatisfy { $0.element == expected[$0.offset % 4] })
        let recorded = try #require(try ending.events("recorded").first)
        #expect(recorded["frames"] == 100 && recorded["duration"] == frames.last.map { ($0["timestamp"] ?? 0) - first })
    }

    @Test func `a player finds the codec, the size, the duration and an index`() async throws {
        let recorder = try await recorder("--once")
        // Times that the sender states, which do not depend on this machine.
        let jpeg = try Data.bytes(at: Self.fixtures[0])
        let frames = (0..<30).map { number in
            PeerMessage.frame(jpeg, width: 451, height: 300, timestamp: 1 + 100_000_000 * UInt64(number))
        }
        let sender = try PeerSocket.connected(to: place.socket)
        try await sender.write(frames.flatMap(\.bytes))
        sender.finishWriting()
        await recorder.ended(0)
        withExtendedLifetime(sender) {}
        let facts = try await place.run(
            words: """
                ffprobe -v error -show_entries stream=codec_name,width,height:format=format_name,duration -of \
                default=nw=1 $D/r.mkv
                """
        )
        let lines = facts.completeLines
        for line in ["codec_name=mjpeg", "width=451", "height=300", "format_name=matroska,webm", "duration=3.000000"] {
            #expect(lines.contains(line), "\(lines)")
        }
        // The index leads to the cluster that was asked for.
        let late = try await place.run(
            words: "ffprobe -v error -read_intervals 2%+#1 -show_entries packet=pts_time -of default=nw=1:nk=1 $D/r.mkv"
        )
        #expect(late.completeLines == ["2.000000"])
    }

    @Test(.needs("gst-launch-1.0")) func `a pipe carries the times too`() async throws {
        let pipe = try place.shell(
            """
            $F record $S - --once --quiet | tee $D/r.mkv |
            gst-launch-1.0 -q fdsrc ! matroskademux ! jpegdec ! multifilesink location=$D/%05d.raw
            """
        )
        try await send([Self.fixtures[0]], "--loop", "100", "--fps", "200", "--wait", "30")
        #expect(await pipe.ended(0).errors == "")
        #expect(try place.names().filter { $0.hasSuffix(".raw") }.count == 100)
        let times = try await times()
        // A stall of this machine makes a step longer, and none shorter.
        #expect(times.count == 100 && zip(times, times.dropFirst()).allSatisfy { $1 - $0 >= 5_000_000 })
    }

    @Test func `orientations are stored in the JPEGs, numbered as in Exif`() async throws {
        let recorder = try await recorder("--once")
        try place.peer("send_stream", Places.fixture("streams/orientations.http"))
        await recorder.ended(0)
        let received = try await jpegs()
        try #require(received.count == 9)
        // Pillow turns all of them to one image.
        let files = try place.names(in: "jpegs").map { place.path("jpegs/\($0)") }
        let pillow = try await place.start(Places.python, ["-B", Places.peer("turn_upright")] + files).ended(0)
        let images = pillow.output.pieces(of: 144 * 96 * 3)
        try #require(images.count == 9)
        for image in images { #expect(peakSignalToNoiseRatio(image, images[1]) > 38) }
    }

    @Test func `padding is not recorded, and a body that is not a JPEG is left out`() async throws {
        let recorder = try await recorder("--once")
        let stream = RecordedStream.zeroPadded
        _ = try place.file("stream", stream.bytes + message(Array("no image".utf8)))
        try place.peer("send_stream", place.path("stream"))
        #expect(try await recorder.ended(0).events("error").count == 1)
        let unpadded = stream.bodies.map { body in Array(body[...(body.lastIndex { $0 != 0 } ?? 0)]) }
        #expect(try await jpegs() == unpadded)
    }

    @Test(arguments: Program.Signal.allCases)
    func `an interrupted recording is completed`(signal: Program.Signal) async throws {
        let recorder = try await recorder()
        _ = try place.framesocket(
            ["send", place.socket, Self.fixtures[0], "--passthrough", "--loop", "0", "--fps", "50", "--quiet"]
        )
        try await recorder.lines(12)
        let recorded = try #require(try await recorder.ended(by: signal, 130).events("recorded").first)
        #expect(try await times().count == recorded["frames"])
        let duration = try await place.run(
            words: "ffprobe -v error -show_entries format=duration -of default=nw=1:nk=1 $D/r.mkv"
        )
        #expect(Double(duration.completeLines.first ?? "") ?? 0 > 0.1)
    }

    // MARK: Senders

    @Test func `--once ends with the first sender of a frame, and not with a visitor`() async throws {
        let recorder = try await recorder("--once")
        let visitor = try PeerSocket.connected(to: place.socket)
        try await recorder.printed(#""event":"connected""#)
        visitor.close()
        try await recorder.printed(#""event":"closed""#)
        try await send([Self.fixtures[0]], "--wait", "30")
        #expect(try await recorder.ended(0).events("recorded").first?["frames"] == 1)
    }

    @Test func `a second sender is turned away before anything is read, and not forgotten`() async throws {
        try await send(recordedBy: try await recorder("--once"))
        let file = try place.file("first.mkv", Data.bytes(at: place.path("r.mkv")))
        let recorder = try await recorder("--overwrite", "--count", "3")
        let first = try place.framesocket(
            ["send", place.socket, "-", "--passthrough", "--quiet"],
            input: .pipe(InputPipe())
        )
        first.write(try Data.bytes(at: Self.fixtures[0]))
        _ = try await recorder.lines(3)
        for (command, source) in [("send", Self.fixtures[1]), ("replay", file)] {
            let other = try place.framesocket([command, place.socket, source, "--json", "--wait", "0.3"])
            #expect(try await other.ended(69, "no free slot").events.map(\.name) == ["sent", "failed"])
        }
        try await recorder.printed(#""code":"server.full""#)
        let patient = try place.framesocket(
            ["send", place.socket, Self.fixtures[1], Self.fixtures[2], "--passthrough", "--wait", "60"]
        )
        first.kill()
        await patient.ended(0)
        let ending = await recorder.ended(0)
        #expect(try ending.events("frame").map { $0["connection"] } == [1, 2, 2])
        #expect(try await jpegs() == [0, 1, 2].map { try Data.bytes(at: Self.fixtures[$0]) })
    }

    /// Sends one frame to a recorder that ends with its sender.
    private func send(recordedBy recorder: Program) async throws {
        try await send([Self.fixtures[0]])
        await recorder.ended(0)
    }

    // MARK: What goes wrong

    #if os(Linux)
        @Test func `what was written before the program was killed is playable`() async throws {
            let seed = UInt64.random(in: 0...UInt64.max)
            var random = SplitMix(seed: seed)
            for round in 0..<8 {
                let recorder = try await recorder("--overwrite")
                let sender = try place.framesocket(
                    ["send", place.socket] + Self.fixtures + ["--loop", "0", "--quiet", "--passthrough"]
                )
                try await recorder.lines(2 + Int.random(in: 1...60, using: &random))
                recorder.kill()
                // A frame is told of when it has been written, and a line that was cut tells of none.
                let told = await recorder.ended().lines.filter { $0.contains(#""event":"frame""#) }.count
                _ = await sender.ended()
                let frames = try await place.run(
                    words: "ffmpeg -nostdin -v fatal -i $D/r.mkv -fps_mode passthrough -c copy -f framemd5 -"
                ).completeLines.filter { !$0.hasPrefix("#") }
                #expect(frames.count >= told, "SEED=\(seed), round \(round)")
                // The socket of one that was killed is a dead one, which the next replaces.
            }
        }
    #endif
}
