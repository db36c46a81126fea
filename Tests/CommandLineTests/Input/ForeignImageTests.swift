import Foundation
import TestSupport
import Testing

/// JPEGs that other programs wrote: each is taken, and decoded to the pixels of `djpeg`, or refused with a reason.
@Suite(.serialized) struct ForeignImageTests {
    private let place = Workplace.new

    // MARK: Files

    private static let samples = "/usr/share/libjxl-testdata"

    /// Every JPEG of Debian's libjxl-testdata, by its path.
    private static let files: [String] =
        (FileManager.default.enumerator(atPath: samples)?.compactMap { $0 as? String } ?? [])
        .filter { $0.hasSuffix(".jpg") || $0.hasSuffix(".jpeg") }.sorted().map { samples + "/" + $0 }

    /// Those that are refused: libturbojpeg has no name for their subsampling.
    private static let refused: Set = [
        "flower.png.im_q85_asymmetric.jpg", "flower.png.im_q85_luma_subsample.jpg",
        "flower.png.im_q85_rgb_subsample_blue.jpg",
    ]

    @Test(
        .enabled(if: !files.isEmpty, "libjxl-testdata is not installed; scripts/setup check installs it on Debian"),
        arguments: files
    )
    func `a file from libjxl's tests is decoded as djpeg decodes it, or refused with a reason`(file: String)
        async throws
    {
        let name = URL(filePath: file).lastPathComponent
        // Some are progressive, which only --force passes on; it passes on anything that states a size.
        let sending =
            ["send", place.socket, file, "--passthrough", "--wait", "30", "--quiet"]
            + (Self.refused.contains(name) ? [] : ["--force"])
        let receiver = try place.framesocket([
            "receive", place.socket, "--count", "1", "--raw", "rgb", "--allow-progressive",
        ])
        let sender = try place.framesocket(sending)
        if Self.refused.contains(name) {
            await sender.ended(65, "components whose sizes have no name")
            #expect(await receiver.ended(by: .interrupt).output == [])
        } else {
            await sender.ended(0)
            let pixels = await receiver.ended().output
            #expect(try await pixels == place.djpeg(file, "-rgb"), "\(name)")
        }
    }

    @Test func `every name on the list of refused files exists`() {
        let names = Set(Self.files.map { URL(filePath: $0).lastPathComponent })
        #expect(names.isEmpty || names.isSuperset(of: Self.refused))
    }

    // MARK: Streams

    /// Sends what a shell writes, as it is, and compares what it is received as, and decoded to, with djpeg.
    private func check(_ writer: String, count: Int) async throws {
        try await place.shell("\(writer) >$D/in.mjpeg").ended(0)
        let receiver = try place.framesocket(words: "receive $S --count \(count) --output $D/out --raw rgb")
        let stream = Program.Input.file(place.path("in.mjpeg"))
        try await place.send("-", "--passthrough", "--quiet", "--wait", "30", input: stream).checked(0)
        let pixels = await receiver.ended().output
        let files = try place.names(in: "out")
        #expect(files.count == count, "\(writer)")
        var expected: [UInt8] = []
        for file in files { expected += try await place.djpeg(place.path("out/\(file)"), "-rgb") }
        #expect(pixels == expected, "\(writer)")
    }

    /// What ffmpeg's encoder takes, as it says itself.
    private static let pixelFormats: [String] = {
        guard let help = try? ChildProcess("ffmpeg", ["-hide_banner", "-h", "encoder=mjpeg"]) else { return [] }
        let text = String(decoding: help.output, as: UTF8.self)
        let line = text.split(separator: "\n").first { $0.contains("Supported pixel formats:") }
        return line?.split(separator: ":").last?.split(separator: " ").map(String.init) ?? []
    }()

    @Test(.needs("ffmpeg"), arguments: pixelFormats, ["default", "optimal"])
    func `ffmpeg's motion JPEG is decoded as djpeg decodes it`(format: String, huffman: String) async throws {
        // Sides that end within blocks; limited range is only written on request.
        try await check(
            """
            ffmpeg -nostdin -v error -f lavfi -i testsrc2=size=333x211:rate=25 -frames:v 5 -pix_fmt \(format) \
            -huffman \(huffman) -strict unofficial -c:v mjpeg -f mjpeg -
            """,
            count: 5
        )
    }

    @Test func `ffmpeg supports the formats under test`() {
        #expect(Self.pixelFormats.count >= 3)
    }

    static let gstreamerFormats = [
        "I420", "YV12", "YUY2", "UYVY", "Y41B", "Y42B", "YVYU", "Y444", "NV21", "NV12", "RGB", "BGR", "RGBx", "xRGB",
        "BGRx", "xBGR", "GRAY8",
    ]

    @Test(.needs("gst-launch-1.0"), arguments: gstreamerFormats)
    func `GStreamer's motion JPEG is decoded as djpeg decodes it`(format: String) async throws {
        try await check(
            """
            gst-launch-1.0 -q videotestsrc num-buffers=3 ! video/x-raw,format=\(format),width=333,height=211 ! \
            jpegenc ! fdsink
            """,
            count: 3
        )
    }

    @Test(
        .enabled(
            if: (try? Places.tool("motion")) != nil,
            "motion is not installed; scripts/setup check installs it on Debian"
        )
    )
    func `the stream of motion is decoded as djpeg decodes it`() async throws {
        let code = "import socket; s = socket.socket(); s.bind(('127.0.0.1', 0)); print(s.getsockname()[1])"
        let port = try #require(try await place.start(Places.python, ["-c", code]).ended().lines.first)
        _ = try place.file(
            "motion.conf",
            Array(
                """
                daemon off
                setup_mode off
                netcam_url file://\(place.path("in.mp4"))
                width 320
                height 240
                emulate_motion off
                image_output off
                movie_output off
                stream_port \(port)
                stream_maxrate 50
                stream_motion off
                stream_localhost on
                webcontrol_port 0
                log_file \(place.path("log"))

                """.utf8
            )
        )
        try await place.shell(
            "ffmpeg -nostdin -v error -f lavfi -i testsrc2=size=320x240:rate=15 -t 20 -c:v libx264 -pix_fmt yuv420p $D/in.mp4"
        ).ended(0)
        let motion = try place.shell("exec motion -n -c $D/motion.conf")
        let url = "http://127.0.0.1:\(port)/"
        let start = ContinuousClock.now
        var sizes: [Int] = []
        while sizes.count < 3, ContinuousClock.now - start < Patience.length {
            // As long as the server is not there, and then as much as holds some images.
            let stream = try await place.shell("curl -sf \(url) | head -c 100000 >$D/stream").ended()
            sizes = stream.status == 0 ? try Data.bytes(at: place.path("stream")).jpegStarts : []
        }
        try #require(sizes.count >= 3)
        // The last one may be cut.
        try await check("head -c \(sizes[sizes.count - 1]) $D/stream", count: sizes.count - 1)
        motion.kill()
    }

    // MARK: Webcams

    /// A JPEG without its Huffman tables, as webcams write them into AVI files.
    private func bareJPEG(_ name: String) throws -> (bare: [UInt8], whole: [UInt8]) {
        let whole = try Data.bytes(at: Places.fixture("jpeg/\(name).jpg"))
        let bare = HandmadeJPEG.repeating(0xC4, times: 0, in: whole)
        try #require(bare.count < whole.count - 100)
        return (bare, whole)
    }

    @Test(arguments: ["chelsea-420", "chelsea-422", "chelsea-gray"])
    func `motion JPEG without Huffman tables is sent as the image it shows`(name: String) async throws {
        let (bare, whole) = try bareJPEG(name)
        var received: [[UInt8]] = []
        for jpeg in [bare, whole] {
            let receiver = try place.framesocket(["receive", place.socket, "--count", "2", "--raw", "rgb"])
            let input = Program.Input.file(try place.file("in.mjpeg", jpeg + jpeg))
            try await place.send("-", "--quality", "90", "--quiet", "--wait", "30", input: input).checked(0)
            received.append(await receiver.ended().output)
        }
        #expect(received[0] == received[1] && !received[0].isEmpty)
    }

    @Test func `motion JPEG without Huffman tables that is sent unchanged is refused by receivers with a reason`()
        async throws
    {
        let bare = try bareJPEG("chelsea-420").bare
        let file = try place.file("bare.jpg", bare)
        let receiver = try await place.receiver("--json", "--decode")
        try await place.send("-", "--passthrough", "--quiet", "--wait", "30", input: .file(file)).checked(0)
        // A file is looked at before it is sent.
        try await place.send(file, "--passthrough").checked(65, ["Huffman table"])
        let errors = try await receiver.ended(by: .terminate).events("error")
        #expect(errors.count == 1 && errors[0].description.contains("Huffman table"), "\(errors)")
    }
}

extension [UInt8] {
    /// Where JPEGs begin: every place of FF D8 FF, since none of these has a thumbnail.
    fileprivate var jpegStarts: [Int] {
        indices.dropLast(2).filter { self[$0] == 0xFF && self[$0 + 1] == 0xD8 && self[$0 + 2] == 0xFF }
    }
}
