import Foundation
import FrameSocket
import TestDescriptions
import TestSupport
import Testing

import enum TestSupport.HandmadeJPEG

/// What `framesocket send` sends from standard input: raw video, and streams of JPEGs.
@Suite(.serialized) struct SendStandardInputTests {
    private let place = Workplace.new
    private let width = 120
    private let height = 80

    /// Sends a file on standard input, and gives how that ended; the bodies that arrive are in `out`.
    private func send(_ bytes: [UInt8], _ options: String) async throws -> Ending {
        let file = try place.file("input", bytes)
        let words = options.split(separator: " ").map(String.init)
        return try await place.take(["receive", place.socket, "--json", "--output", place.path("out")]) {
            try await place.framesocket(["send", place.socket, "-"] + words, input: .file(file)).ended()
        }.sent
    }

    // MARK: Raw video

    /// Three images of a photograph in one of ffmpeg's formats, one after another, each from another place.
    private func video(_ format: String) async throws -> [UInt8] {
        try await place.run(
            words: """
                ffmpeg -nostdin -loglevel error -loop 1 -i $X/photos/chelsea-451x300.png -frames:v 3 -vf \
                crop=\(width):\(height):100+60*n:90,scale=out_range=full:flags=accurate_rnd -pix_fmt \(format) -f \
                rawvideo -
                """
        )
    }

    @Test(arguments: [
        ("bgra", "bgra"), ("rgba", "rgba"), ("argb", "argb"), ("abgr", "abgr"), ("bgrx", "bgr0"), ("rgb", "rgb24"),
        ("bgr", "bgr24"), ("gray", "gray"), ("i420", "yuv420p"), ("nv12", "nv12"),
    ])
    func `raw frames of each format arrive as the images they are`(format: String, name: String) async throws {
        let options = "--size \(width)x\(height) --format \(format) --quality 95 --subsampling 4:4:4"
        try await send(video(name), options).checked(0)
        let expected = try await video(format == "gray" ? "gray" : "rgb24")
        let frameSize = expected.count / 3
        try #require(try place.names(in: "out").count == 3)
        for (index, image) in expected.pieces(of: frameSize).enumerated() {
            let file = place.path("out/frame-00000\(index).jpg")
            let received = try await format == "gray" ? place.djpeg(file) : place.djpeg(file, "-rgb")
            // Chroma at half the size has lost more than the JPEG loses.
            let least = format == "i420" || format == "nv12" ? 32.0 : 38.0
            #expect(peakSignalToNoiseRatio(received, image) > least)
        }
    }

    // MARK: Streams of JPEGs

    private var jpegs: [[UInt8]] {
        get throws {
            try ["chelsea-420", "chelsea-exif-6", "chelsea-progressive", "chelsea-gray", "phone-563x1219"].map {
                try Data.bytes(at: Places.fixture("jpeg/\($0).jpg"))
            }
        }
    }

    /// A JPEG that carries another one, whole, in its Exif segment, made by Pillow.
    private func jpegWithThumbnail() async throws -> [UInt8] {
        let file = place.path("thumbnail.jpg")
        try await place.script("make_jpeg", "thumbnail", Places.fixture("photos/chelsea-451x300.png"), file)
        let bytes = try Data.bytes(at: file)
        // It begins and ends twice.
        try #require(zip(bytes, bytes.dropFirst()).count { $0 == 0xFF && $1 == 0xD8 } == 2)
        return bytes
    }

    /// What may stand between JPEGs, and the exit code that follows.
    static let fillings: [(filling: [UInt8], status: Int32)] = [
        ([UInt8](repeating: 0, count: 5000), 0),
        (Array("\r\n--boundary\r\nContent-Type: image/jpeg\r\nContent-Length: 9\r\n\r\n".utf8), 0),
        ([0xFF, 0xD9, 0xFF, 0xFF, 0x00, 0xD8, 0xFF, 0x00], 65), ([0xFF, 0xD8, 0xFF, 0xD9], 65),
        ([0xFF, 0xD8, 0xFF, 0xE0, 0x00, 0x10, 0x4A], 65),
    ]

    @Test(arguments: fillings)
    func `whatever separates JPEGs costs none of them, and is reported unless programs write it`(
        filling: [UInt8],
        status: Int32
    ) async throws {
        let stream = [try await jpegWithThumbnail()] + (try jpegs)
        let ending = try await send(filling + stream.flatMap { $0 + filling }, "--passthrough --json").checked(status)
        #expect(try place.contents(of: "out") == stream)
        let errors = try ending.events("error")
        #expect(errors.count == (status == 0 ? 0 : stream.count + 1))
        if status != 0 {
            let first = "standard input: \(filling.count) bytes at offset 0 are part of no JPEG"
            #expect(errors.first?.text("message") == first)
            #expect(errors.first?.text("code") == "file.unfit")
        }
    }

    @Test func `frames without an end marker are sent while the stream continues`() async throws {
        let stream = try jpegs
        let receiver = try await place.receiver("--count", "4", "--output", place.path("out"))
        let input = try InputPipe()
        let sender = try place.framesocket(["send", place.socket, "-", "--passthrough"], input: .pipe(input))
        input.write(stream.flatMap { $0.dropLast(2) })
        await receiver.ended(0)
        #expect(try place.contents(of: "out") == Array(stream[..<4]))
        input.end()
        _ = await sender.ended()
    }

    /// Expects that so many frames of a stream are sent, and can be decoded.
    private func expect(_ count: Int, of file: String, _ options: [String]) async throws {
        let (taken, sent) = try await place.take(["receive", place.socket, "--json", "--decode"]) {
            try await place.framesocket(["send", place.socket, "-"] + options, input: .file(file)).ended()
        }
        #expect(sent.status == 0, "\(sent)")
        let events = try taken.events
        #expect(events.count { $0.name == "frame" } == count && !events.contains { $0.name == "error" })
    }

    /// A JPEG whose compressed data ends with a byte 0: chroma that is the same everywhere is coded as bits 0.
    private func jpegEndingWithZero() throws -> [UInt8] {
        for side in 9..<100 {
            let rows = [UInt8](repeating: 90, count: side * side - 40) + (0..<40).map { UInt8(3 * $0) }
            let pixels = rows.flatMap { [$0, $0, $0] }
            let image = try PixelBuffer(copying: pixels.span, width: side, height: side, format: .rgb)
            let jpeg: [UInt8] = try JPEGEncoder(quality: 80, subsampling: .yuv420).encode(image)
            if jpeg[jpeg.count - 3] == 0, jpeg[jpeg.count - 4] != 0xFF { return jpeg }
        }
        throw Program.Failure(description: "no such JPEG")
    }

    @Test(arguments: [[], ["--passthrough"]])
    func `a zero that ends a frame without an end marker is told from padding`(options: [String]) async throws {
        let jpeg = try jpegEndingWithZero()
        let file = try place.file(
            "frames",
            (0..<3).flatMap { _ in jpeg.dropLast(2) + [UInt8](repeating: 0, count: 99) }
        )
        try await expect(3, of: file, options)
    }

    /// A photo over the limits of receivers.
    private static let huge = HandmadeJPEG.header(width: 8064, height: 6048) + [0x5A, 0xFF, 0xD9]

    @Test func `an image that receivers reject for its size is named, and the others are sent`() async throws {
        let jpegs = try jpegs
        let ending = try await send(jpegs[0] + Self.huge + jpegs[1], "--passthrough --json").checked(65)
        #expect(try place.contents(of: "out") == Array(jpegs[..<2]))
        let message = try ending.events("error").first?.text("message") ?? ""
        #expect(message.hasPrefix("frame 1: 8064x6048 pixels; receivers accept at most "), "\(ending)")
        #expect(ending.errors.contains("1 part of standard input could not be sent"), "\(ending)")
    }

    @Test(arguments: [
        ("RIFF....AVI LIST", "ffmpeg -i - -c:v copy -f mjpeg -"), ("....ftypisom........", "ffmpeg -i - -c:v copy"),
        ("\u{1A}E\u{DF}\u{A3}............", "framesocket replay"), ("GIF89a..........", "GIF"),
        ("\u{89}PNG\r\n\u{1A}\n........", "image2pipe"), ("P6 1 1 255\n.........", "PNM, which is not supported"),
    ])
    func `what is no stream of JPEGs is named at once, with what to do`(start: String, advice: String) async throws {
        _ = try await place.receiver()
        // The input does not end.
        let program = try place.framesocket(["send", place.socket, "-"], input: .pipe(InputPipe()))
        program.write(start.unicodeScalars.map { UInt8($0.value) })
        await program.ended(65, advice)
    }
}
