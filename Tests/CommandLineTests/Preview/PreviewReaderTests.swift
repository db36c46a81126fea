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
        // The latency is that of the last two seconds.
        try await site.state { $0.state == "live" && $0.latency != nil && $0.latencyMaximum != nil }
    }

    @Test(arguments: [[], ["-f", "mpjpeg"], ["-f", "mpjpeg", "-strict_mime_boundary", "1"]])
    func `ffmpeg reads the stream`(options: [String]) async throws {
        let file = place.path("seen.mkv")
        let arguments = ["-i", site.url("?action=stream"), "-frames:v", "20", "-c", "copy", file]
        try await place.start(Places.tool("ffmpeg"), ["-nostdin", "-v", "error"] + options + arguments).ended(0)
        let streams = try await place.run("ffprobe", "-v", "error", "-count_packets", "-show_streams", file)
        let facts = String(decoding: streams, as: UTF8.self)
        #expect(facts.contains("codec_name=mjpeg") && facts.contains("nb_read_packets=20"))
    }

    @Test(arguments: [
        "gst-launch-1.0 -q souphttpsrc location=\"$U\" num-buffers=100",
        "curl -sN \"$U\" | head -c 1000000 | gst-launch-1.0 -q fdsrc",
    ])
    func `GStreamer reads the stream`(source: String) async throws {
        let ending = try await place.shell(
            "U='\(site.url("stream"))'; \(source) ! multipartdemux ! multifilesink location=$D/seen-%05d.jpg"
        ).ended()
        // Each of the files is one image, and the whole of it.
        let names = try place.names().filter { $0.hasPrefix("seen-") }
        #expect(names.count > 10, "\(ending)")
        for name in names {
            let image = try Data.bytes(at: place.path(name))
            #expect(image.starts(with: [0xFF, 0xD8]) && image.suffix(2) == [0xFF, 0xD9], "\(name)")
        }
    }
}
