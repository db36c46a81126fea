import Foundation
import Testing

/// `receive` into the standard input of other programs, and `send` from their standard output: every frame arrives.
@Suite(.serialized) struct PipeTests {
    private let place = Workplace.new
    /// What is sent: a hundred JPEGs, each another image.
    private let count = 100

    /// Makes `$D/in.mjpeg`, which ffmpeg encodes.
    private func makeJPEGs() async throws {
        let ending = try await place.shell(
            """
            ffmpeg -nostdin -loglevel error -f lavfi -i testsrc=size=320x240:rate=25 -frames:v \(count) -q:v 3 \
            -f mjpeg $D/in.mjpeg && mkdir $D/out
            """
        ).ended()
        try #require(ending.status == 0, "\(ending)")
    }

    // MARK: Out

    /// Receives into `reader`, of the shell, which reads standard input, and gives what came of that.
    private func receive(_ options: String, into reader: String) async throws -> Ending {
        try await makeJPEGs()
        let pipe = try place.shell(
            "{ $F receive $S --count \(count) --quiet \(options); echo $? >$D/code; } | \(reader)"
        )
        try await place.shell("$F send $S - --passthrough --wait 30 --quiet <$D/in.mjpeg").ended(0)
        let ending = await pipe.ended(0)
        #expect(try Data.bytes(at: place.path("code")) == Array("0\n".utf8))
        return ending
    }

    /// How many images a reader has written as files, all of them different.
    private func different(_ files: [[UInt8]]) -> Int { Set(files.map { Data($0) }).count }

    private static let framemd5 = "-fps_mode passthrough -f framemd5 -"

    @Test func `JPEGs can be piped into ffmpeg`() async throws {
        let sums = try await receive("--mjpeg", into: "ffmpeg -loglevel error -f mjpeg -i - \(Self.framemd5)").checksums
        #expect(sums.count == count)
        // The same images as those that were sent.
        let file = try await place.shell(
            "ffmpeg -nostdin -loglevel error -f mjpeg -i $D/in.mjpeg \(Self.framemd5)"
        ).ended()
        #expect(sums == file.checksums)
    }

    @Test(
        arguments: [
            "$F receive $S --quiet --wire-log - | head -c 40", "$F receive $S --quiet --mjpeg | head -c 40",
            "$F receive $S --quiet --raw bgra | head -c 40", "$F receive $S --quiet --json | head -c 40",
            "$F record $S - --quiet | head -c 40",
            "mkfifo $D/p; head -c 100 <$D/p & $F receive $S --quiet --wire-log $D/p",
            // Standard output is a pipe whose reader has gone before anything is written.
            "mkfifo $D/p; exec 3<>$D/p 4>$D/p 3<&-; $F receive $S --quiet --wire-log - >&4",
        ].map {
            $0.contains("|") ? "{ " + $0.replacing(" |", with: "; echo $? >$D/code; } |") : $0 + "; echo $? >$D/code"
        }
    )
    func `a reader that leaves ends the program quietly`(command: String) async throws {
        let receiver = try place.shell(command)
        _ = try place.shell("$F send $S $X/jpeg/chelsea-420.jpg --loop 0 --wait 30 --quiet")
        let ending = await receiver.ended()
        #expect(ending.errors == "" && (!command.contains("| head") || ending.output.count == 40), "\(ending)")
        #expect(try Data.bytes(at: place.path("code")) == Array("0\n".utf8))
    }

    // MARK: In

    /// Receives what `writer`, of the shell, writes into `send`, and gives the events of its frames.
    private func send(_ options: String, from writer: String) async throws -> [Event] {
        let receiver = try await place.receiver(
            "--count",
            "\(count)",
            "--json",
            "--timeout",
            "60",
            "--output",
            place.path("out")
        )
        try await place.shell("\(writer) | $F send $S - --quiet \(options)").ended(0)
        return try await receiver.ended().events("frame")
    }

    private static let testSource = "ffmpeg -nostdin -loglevel error -f lavfi -i testsrc=size=320x240:rate=25"

    @Test(arguments: [
        ("-pix_fmt bgra -f rawvideo", "--size 320x240 --format bgra"),
        ("-pix_fmt yuv420p -f rawvideo", "--size 320x240 --format i420"),
        ("-q:v 3 -f mpjpeg", "--passthrough"), ("-q:v 3 -f mjpeg", "--passthrough"),
        ("-q:v 3 -f mpjpeg", "--quality 90"), ("-q:v 3 -f mjpeg", "--quality 90"),
    ])
    func `video can be piped from ffmpeg`(output: String, options: String) async throws {
        let frames = try await send(options, from: "\(Self.testSource) -frames:v \(count) \(output) -")
        #expect(frames.count == count && frames.allSatisfy { $0["width"] == 320 && $0["height"] == 240 })
        #expect(try different(place.contents(of: "out")) == count)
    }

    #if os(Linux)
        @Test(.needs("Xvfb")) func `the screen of an X server arrives in shared memory, every byte of it`() async throws
        {
            let server = try place.shell("exec Xvfb -displayfd 1 -nolisten tcp -screen 0 320x240x24 2>$D/log")
            let display = try await server.lines(1)[0]
            let reader = try place.shell(
                "$F receive $S --shared --y4m --count \(count) --quiet >$D/out"
            )
            let ending = try await place.shell(
                """
                ffmpeg -nostdin -loglevel error -f x11grab -framerate 60 -video_size 320x240 -i :\(display) \
                -frames:v \(count) -pix_fmt yuv420p -f rawvideo - | tee $D/in \
                | $F send $S - --shared --size 320x240 --format i420 --wait 30 --json
                """
            ).ended()
            #expect(ending.status == 0 && ending.text.contains(#""shared":\#(count)"#), "\(ending)")
            await reader.ended(0)
            let byteCount = 320 * 240 * 3 / 2
            let frames = try Data.bytes(at: place.path("in"))
            #expect(frames.count == count * byteCount)
            // A frame of Y4M is a line and the samples; a line of its own precedes the first.
            var expected: [UInt8] = []
            for frame in 0..<count {
                expected += Array("FRAME\n".utf8) + frames[frame * byteCount..<(frame + 1) * byteCount]
            }
            let video = try Data.bytes(at: place.path("out"))
            #expect(video.suffix(expected.count).elementsEqual(expected))
            #expect(video.count - expected.count == video.firstIndex(of: UInt8(ascii: "\n")).map { $0 + 1 })
        }
    #endif
}
