import Foundation
import TestSupport
import Testing

/// Other programs that read the stream of `framesocket preview`.
@Suite(.serialized) struct PreviewReaderTests {
    private let place: Workplace
    private let site: PreviewSite

    init() async throws {
        place = try Workplace()
        site = try await PreviewSite(place)
        let arguments = ["send", place.socket, Places.fixture("jpeg"), "--passthrough", "--loop", "0", "--fps", "20"]
        _ = try place.framesocket(arguments + ["--quiet"])
        try await site.state { $0.state == "live" }
    }

    @Test(arguments: [[], ["-f", "mpjpeg"], ["-f", "mpjpeg", "-strict_mime_boundary", "1"]])
    func `ffmpeg reads the stream`(options: [String]) async throws {
        let file = place.path("seen.mkv")
        let arguments = ["-i", site.url + "stream", "-frames:v", "20", "-c", "copy", file]
        let ending = try await place.start(
            Places.tool("ffmpeg"),
            ["-nostdin", "-v", "error"] + options + arguments
        ).ended()
        #expect(ending.status == 0, "\(ending)")
        let streams = try await place.run("ffprobe", "-v", "error", "-count_packets", "-show_streams", file)
        let facts = String(decoding: streams, as: UTF8.self)
        #expect(facts.contains("codec_name=mjpeg") && facts.contains("nb_read_packets=20"))
    }

    @Test(arguments: [
        "gst-launch-1.0 -q souphttpsrc location=$U num-buffers=100",
        "curl -sN $U | head -c 1000000 | gst-launch-1.0 -q fdsrc",
    ])
    func `GStreamer reads the stream`(source: String) async throws {
        let ending = try await place.shell(
            "U=\(site.url)stream; \(source) ! multipartdemux ! multifilesink location=$D/seen-%05d.jpg"
        ).ended()
        // Each of the files is one image, and the whole of it.
        let names = try place.names().filter { $0.hasPrefix("seen-") }
        #expect(names.count > 10, "\(ending)")
        for name in names {
            let image = try Data.bytes(at: place.path(name))
            #expect(image.starts(with: [0xFF, 0xD8]) && image.suffix(2) == [0xFF, 0xD9], "\(name)")
        }
    }

    @Test func `the bytes that curl reads are those of RFC 2046`() async throws {
        let ending = try await place.shell("curl -sN -D $D/header \(site.url)stream | head -c 400000 >$D/body").ended()
        #expect(ending.status == 0, "\(ending)")
        let header = String(decoding: try Data.bytes(at: place.path("header")), as: UTF8.self)
        let field = try #require(header.split(separator: "\r\n").first { $0.hasPrefix("Content-Type:") })
        let boundary = try #require(field.split(separator: "boundary=").last)
        #expect(field == "Content-Type: multipart/x-mixed-replace; boundary=\(boundary)")
        #expect(boundary.count <= 70 && boundary.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-") })
        #expect(!boundary.hasPrefix("-"))
        let body = try Data.bytes(at: place.path("body"))
        let images = try Self.images(in: body, boundary: String(boundary))
        #expect(
            images.count > 5 && images.allSatisfy { $0.starts(with: [0xFF, 0xD8]) && $0.suffix(2) == [0xFF, 0xD9] }
        )
    }

    /// Reads the parts as strict readers do, such as those written in Go.
    ///
    /// A line with the boundary, fields up to an empty line, exactly as many bytes as a field states, and a line end. What is
    /// cut off at the end is left out.
    private static func images(in body: [UInt8], boundary: String) throws -> [[UInt8]] {
        var rest = body[...]
        func line() throws -> String? {
            guard let end = rest.firstIndex(of: 0x0A) else { return nil }
            let line = rest[..<end]
            rest = rest[(end + 1)...]
            try #require(line.last == 0x0D, "a line ends without CR")
            return String(decoding: line.dropLast(), as: UTF8.self)
        }
        var images: [[UInt8]] = []
        while let first = try line() {
            try #require(first == "--\(boundary)")
            var length: Int?
            while let field = try line(), !field.isEmpty {
                let words = field.split(separator: ": ", maxSplits: 1)
                if words.first == "Content-Length" { length = words.last.flatMap { Int($0) } }
            }
            guard !rest.isEmpty else { break }
            let count = try #require(length, "a part without a length")
            guard rest.count >= count + 2 else { break }
            images.append(Array(rest.prefix(count)))
            rest = rest.dropFirst(count)
            try #require(rest.starts(with: [0x0D, 0x0A]), "a part is longer than it states")
            rest = rest.dropFirst(2)
        }
        return images
    }
}
