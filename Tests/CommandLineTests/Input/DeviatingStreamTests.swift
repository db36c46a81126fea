import Foundation
import FrameSocket
import TestSupport
import Testing

/// JPEGs that deviate from the format, as some cameras and phones write them, and JPEGs of other kinds: refused, decoded
/// or passed on, as the command and its options say.
@Suite(.serialized) struct DeviatingStreamTests {
    private let place = Workplace.new

    /// Deviations that `DeviationTests` has with all others.
    private static let deviations = ["components named [1, 1, 1]", "version 2 of JFIF"].compactMap { name in
        DeviatingJPEG.all.first { $0.description == name }
    }

    private static let good = HostileJPEG.good

    /// JPEGs of 40 by 24 pixels of kinds that are not decoded here.
    private static let foreign =
        [
            HandmadeJPEG.header(width: 40, height: 24, frame: 0xC9),
            HandmadeJPEG.header(width: 40, height: 24, frame: 0xC3),
            HandmadeJPEG.header(width: 40, height: 24, precision: 12),
            HandmadeJPEG.header(width: 40, height: 24, components: (1...4).map { ($0, 0x11) }),
            HandmadeJPEG.header(width: 40, height: 24, components: [(1, 0x42), (2, 0x31), (3, 0x11)]),
            HandmadeJPEG.header(width: 40, height: 24, components: [(1, 0x11), (2, 0x11)], quantization: false),
        ].map { $0 + [0x5A, 0xFF, 0xD9] }

    /// The pixels of the good one: red, green and blue.
    private static var pixels: [UInt8] {
        get throws { Array(try JPEGDecoder().decode(bytes: good, as: .rgb).ppm().suffix(75 * 51 * 3)) }
    }

    private func files(_ jpegs: [[UInt8]]) throws -> [String] {
        try jpegs.enumerated().map { try place.file("camera-\($0.offset).jpg", $0.element) }
    }

    @Test(arguments: deviations, [false, true])
    func `send accepts a deviation with --lenient only, and its error names the option`(
        deviation: DeviatingJPEG,
        isPassthrough: Bool
    ) async throws {
        let jpeg = deviation.apply(Self.good)
        let file = try place.file("camera.jpg", jpeg)
        let receiver = try await place.receiver("--count", "1", "--json", "--output", place.path("out"))
        let options = isPassthrough ? ["--passthrough"] : ["--quality", "98", "--subsampling", "4:4:4"]
        try await place.framesocket(["send", place.socket, file] + options).ended(65, "--lenient")
        try await place.framesocket(["send", place.socket, file, "--lenient"] + options).ended(0)
        await receiver.ended(0)
        let stream = try place.framesocket(words: "receive $S --count 1 --decode --lenient")
        try await place.send("-", "--lenient", "--wait", "30", input: .file(file)).checked(0)
        await stream.ended(0)
        if isPassthrough {
            #expect(try place.contents(of: "out") == [jpeg.padded])
        } else {
            let received = try await place.djpeg(place.path("out/frame-000000.jpg"), "-rgb")
            #expect(peakSignalToNoiseRatio(received, try Self.pixels) > 35)
        }
    }

    @Test(arguments: deviations)
    func `receive decodes a deviation with --lenient only, and its error names the option`(
        deviation: DeviatingJPEG
    ) async throws {
        let file = try place.file("camera.jpg", deviation.apply(Self.good))
        let sending = ["send", place.socket, file, "--passthrough", "--force"]
        let strict = try await place.receiver("--decode", "--json")
        try await place.framesocket(sending).ended(0)
        try await strict.printed("\"closed\"")
        let errors = try await strict.ended(by: .interrupt).events("error")
        #expect(errors.count == 1 && errors[0].text("message")?.contains("--lenient") == true, "\(errors)")

        let lenient = try await place.receiver("--raw", "rgb", "--lenient", "--count", "1")
        try await place.framesocket(sending).ended(0)
        #expect(try await lenient.ended(0).output == Self.pixels)
    }

    @Test func `record and replay pass on what they need not understand`() async throws {
        let jpegs = Self.deviations.map { $0.apply(Self.good) } + Self.foreign
        try #require(jpegs.count == 8)
        let files = try files(jpegs)
        let recorder = try place.framesocket(["record", place.socket, place.path("r.mkv"), "--once", "--json"])
        try await recorder.lines(1)
        try await place.framesocket(["send", place.socket] + files + ["--passthrough", "--force"]).ended(0)
        let ending = await recorder.ended(0)
        #expect(try ending.events("error").isEmpty)
        #expect(try ending.events("recorded").first?["frames"] == jpegs.count)

        let receiver = try await place.receiver("--count", "\(jpegs.count)", "--mjpeg")
        try await place.framesocket(words: "replay $S $D/r.mkv --speed 0").ended(0)
        #expect(await receiver.ended().output == jpegs.flatMap(\.self))
    }

    @Test func `preview passes on upright images that it cannot decode`() async throws {
        let site = try await PreviewSite(place)
        let files = try files(Self.deviations.map { $0.apply(Self.good) } + Self.foreign)
        try await place.framesocket(["send", place.socket] + files + ["--passthrough", "--force"]).ended(0)
        let shown = try place.file("shown.jpg", Self.deviations[0].apply(Self.good))
        try site.sender(showing: shown, options: "--no-padding")
        let state = try await site.state { $0.frames == 1 && $0.width != nil }
        #expect(state.state == "live" && state.width == 75 && state.height == 51 && state.undecodable == 0)
        #expect(try await site.get("/snapshot.jpg").body == Data.bytes(at: shown))
        #expect(!site.program.hasPrinted("\"error\""))
    }

    @Test func `preview rotates images that deviate with --lenient only, and its error names the option`() async throws
    {
        let file = try place.file("camera.jpg", Self.deviations[0].apply(Self.good))
        for isLenient in [false, true] {
            let place = try Workplace()
            let site = try await isLenient ? PreviewSite(place, "--lenient") : PreviewSite(place)
            // What has to be rotated is rotated for those who look.
            let viewer = try await site.viewer()
            try site.sender(showing: file, options: "--no-padding", "--orientation", "6")
            let state = try await site.state { $0.frames == 1 }
            #expect(state.undecodable == (isLenient ? 0 : 1))
            if isLenient {
                #expect(state.width == 51 && state.height == 75)
                #expect(try await site.get("/snapshot.jpg").status == 200)
            } else {
                try await site.program.printed("--lenient")
            }
            viewer.kill()
        }
    }

    @Test func `--passthrough --force sends whatever states a size, and nothing else`() async throws {
        let (out, files) = try (place.path("out"), files(Self.foreign))
        let receiver = try await place.receiver("--count", "\(files.count)", "--json", "--output", out)
        for file in files {
            try await place.send(file, "--passthrough").checked(65, ["--force"])
        }
        let sizeless = try place.file("sizeless.jpg", HandmadeJPEG.header(width: 0, height: 24))
        try await place.send(sizeless, "--passthrough", "--force").checked(65, ["sizeless.jpg: the JPEG of"])
        try await place.framesocket(["send", place.socket] + files + ["--passthrough", "--force"]).ended(0)
        let frames = try await receiver.ended().events("frame")
        #expect(frames.allSatisfy { $0["width"] == 40 && $0["height"] == 24 })
        #expect(try place.contents(of: "out") == Self.foreign.map(\.padded))
    }
}
