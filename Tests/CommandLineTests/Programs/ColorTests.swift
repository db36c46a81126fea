import Foundation
import TestSupport
import Testing

/// The colors of the routes that docs/pipes.md describes: color bars come out as they went in.
@Suite(.serialized) struct ColorTests {
    private static let size = (width: 640, height: 360)
    /// What a bar takes; its edges lie between blocks of 16 pixels.
    private static let barWidth = 80
    private static let colors: [[UInt8]] = [
        [191, 191, 191], [191, 191, 0], [0, 191, 191], [0, 191, 0], [191, 0, 191], [191, 0, 0], [0, 0, 191],
        [16, 16, 16],
    ]

    /// A way for an image, and what it is worth.
    struct Route: Sendable, CustomTestStringConvertible {
        var name: String
        /// The options of the end of this program.
        var options: String
        /// What the shell puts at the other end of the pipe; it writes or reads `$D`.
        var other: String
        /// The least quality in decibels: less than 45 if the other end rounds or guesses.
        var least = 45.0
        var testDescription: String { name }
    }

    private let place: Workplace

    init() throws {
        place = try Workplace()
        let png = HandmadePNG(width: Self.size.width, height: Self.size.height, kind: .rgb, depth: 8) { x, _, channel in
            Int(Self.colors[x / Self.barWidth][channel])
        }
        _ = try place.file("bars.png", png.bytes)
    }

    /// The signal-to-noise ratio inside the bars, in decibels: at their edges chroma is shared by several pixels.
    private func quality(of pixels: [UInt8]) -> Double {
        guard pixels.count >= 3 * Self.size.width * Self.size.height else { return 0 }
        var (sum, count) = (0.0, 0)
        for y in 0..<Self.size.height {
            for x in 0..<Self.size.width where 16..<64 ~= x % Self.barWidth {
                for channel in 0..<3 {
                    let found = pixels[3 * (y * Self.size.width + x) + channel]
                    let difference = Double(found) - Double(Self.colors[x / Self.barWidth][channel])
                    sum += difference * difference
                    count += 1
                }
            }
        }
        return sum == 0 ? 99 : 10 * log10(255 * 255 * Double(count) / sum)
    }

    private func check(_ route: Route) throws {
        let quality = quality(of: try Data.bytes(at: place.path("out.rgb")))
        print("color: \(route.name): \(String(format: "%.1f", quality)) dB")
        #expect(quality >= route.least, "\(route.name)")
    }

    // MARK: Out

    private static let toRGB = "-frames:v 1 -pix_fmt rgb24 -f rawvideo -y $D/out.rgb"
    private static let raw = "-f rawvideo -video_size 640x360"
    private static let gstreamer = "videoconvert ! video/x-raw,format=RGB ! filesink location=$D/out.rgb"
    private static let mpv =
        "mpv --no-config --really-quiet --untimed --no-audio --vo=image --vo-image-format=png --vo-image-outdir=$D/mpv"
    private static let fromMPV = "- ; ffmpeg -loglevel error -i $D/mpv/00000001.png \(toRGB)"
    private static let rawMPV = "--demuxer=rawvideo --demuxer-rawvideo-w=640 --demuxer-rawvideo-h=360"

    private static func gstreamer(_ format: String) -> String {
        "gst-launch-1.0 -q fdsrc ! rawvideoparse width=640 height=360 framerate=30/1 \(format) ! \(gstreamer)"
    }

    static let out: [Route] = [
        Route(name: "--y4m to ffmpeg", options: "--y4m", other: "ffmpeg -loglevel error -i - \(toRGB)"),
        Route(
            name: "--y4m --range limited to ffmpeg",
            options: "--y4m --range limited",
            other: "ffmpeg -loglevel error -i - \(toRGB)"
        ),
        Route(name: "--mjpeg to ffmpeg", options: "--mjpeg", other: "ffmpeg -loglevel error -f mjpeg -i - \(toRGB)"),
        Route(
            name: "--raw bgra to ffmpeg",
            options: "--raw bgra",
            other: "ffmpeg -loglevel error \(raw) -pix_fmt bgra -i - \(toRGB)"
        ),
        Route(
            name: "--raw nv12 to ffmpeg",
            options: "--raw nv12",
            other: "ffmpeg -loglevel error \(raw) -pix_fmt nv12 -color_range pc -i - \(toRGB)"
        ),
        Route(
            name: "--raw nv12 --range limited to ffmpeg",
            options: "--raw nv12 --range limited",
            other: "ffmpeg -loglevel error \(raw) -pix_fmt nv12 -i - \(toRGB)",
            least: 43
        ),
        Route(
            name: "--raw i420 --stride to ffmpeg",
            options: "--raw i420 --stride 704,352,352",
            other:
                "ffmpeg -loglevel error -f rawvideo -video_size 704x360 -pix_fmt yuvj420p -i - -vf crop=640:360:0:0 \(toRGB)"
        ),
        Route(
            name: "--mjpeg to GStreamer",
            options: "--mjpeg",
            other: "gst-launch-1.0 -q fdsrc ! jpegdec ! \(gstreamer)"
        ),
        Route(
            name: "--raw i420 to GStreamer",
            options: "--raw i420",
            other: gstreamer("format=i420 colorimetry=1:4:0:0")
        ),
        Route(
            name: "--raw i420 --range limited to GStreamer",
            options: "--raw i420 --range limited",
            other: gstreamer("format=i420 colorimetry=bt601"),
            least: 39
        ),
        Route(
            name: "--raw nv12 --range limited --matrix bt709 to GStreamer",
            options: "--raw nv12 --range limited --matrix bt709",
            other: gstreamer("format=nv12 colorimetry=bt709"),
            least: 39
        ),
        Route(
            name: "--y4m to mpv",
            options: "--y4m",
            other: "\(mpv) --demuxer=lavf \(fromMPV)"
        ),
        Route(
            name: "--raw bgra to mpv",
            options: "--raw bgra",
            other: "\(mpv) \(rawMPV) --demuxer-rawvideo-mp-format=bgra \(fromMPV)"
        ),
        Route(
            name: "--mjpeg to mpv",
            options: "--mjpeg",
            other: "\(mpv) --demuxer=lavf --demuxer-lavf-format=mjpeg \(fromMPV)"
        ),
        Route(
            name: "--y4m to x264 in MP4, and ffmpeg",
            options: "--y4m --range limited --matrix bt709",
            other: """
                ffmpeg -loglevel error -colorspace bt709 -i - -c:v libx264 -crf 10 -color_range tv -colorspace bt709 \
                -color_primaries bt709 -color_trc iec61966-2-1 -y $D/out.mp4 && \
                ffmpeg -loglevel error -i $D/out.mp4 \(toRGB)
                """
        ),
        Route(
            name: "--y4m to x264 in MP4, and mpv",
            options: "--y4m --range limited --matrix bt709",
            other: """
                ffmpeg -loglevel error -colorspace bt709 -i - -c:v libx264 -crf 10 -color_range tv -colorspace bt709 \
                -color_primaries bt709 -color_trc iec61966-2-1 -y $D/out.mp4 && \(mpv) $D/out.mp4 \
                ; ffmpeg -loglevel error -i $D/mpv/00000001.png \(toRGB)
                """,
            least: 32
        ),
    ]

    @Test(.needs("gst-launch-1.0", "mpv"), arguments: out) func `colors arrive as they were sent`(_ route: Route)
        async throws
    {
        let pipe = try place.shell("$F receive $S --count 1 --quiet \(route.options) | { \(route.other); }")
        let sent = try await place.shell("$F send $S $D/bars.png --quality 95 --wait 30 --quiet").ended()
        #expect(sent.status == 0, "\(sent)")
        let ending = await pipe.ended()
        #expect(ending.status == 0, "\(ending)")
        try check(route)
    }

    // MARK: Browser

    static let browser: [Route] = [
        Route(
            name: "--y4m to x264 in MP4, and Chromium",
            options: "--y4m",
            other: "ffmpeg -loglevel error -i - -c:v libx264 -crf 10 -y $D/out.mp4"
        ),
        Route(
            name: "--y4m --range limited --matrix bt709 to x264 in MP4, and Chromium",
            options: "--y4m --range limited --matrix bt709",
            other: """
                ffmpeg -loglevel error -colorspace bt709 -i - -c:v libx264 -crf 10 -color_range tv -colorspace bt709 \
                -color_primaries bt709 -color_trc bt709 -y $D/out.mp4
                """,
            // It rounds the weights of blue.
            least: 36
        ),
    ]

    @Test(.enabled(if: Places.chromium != nil, "no Chromium runs here"), arguments: browser)
    func `colors arrive in a browser as they were sent`(_ route: Route) async throws {
        let pipe = try place.shell("$F receive $S --count 1 --quiet \(route.options) | \(route.other)")
        let sent = try await place.shell("$F send $S $D/bars.png --quality 95 --wait 30 --quiet").ended()
        #expect(sent.status == 0, "\(sent)")
        let ending = await pipe.ended()
        #expect(ending.status == 0, "\(ending)")

        let style = "<style>* { margin: 0 } video { display: block; width: 640px; height: 360px }</style>"
        let page = try place.file("page.html", Array("<!doctype html>\(style)<video muted src=out.mp4></video>".utf8))
        // The frame is there, and has been painted once.
        let steps = [
            "document.querySelector('video').readyState >= 2",
            "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))",
            "screenshot=" + place.path("page.png"),
        ]
        let look = ["-B", Places.package + "Tests/Browser/look.py", "--size", "640x360", "--chromium"]
        let chromium = try #require(Places.chromium)
        let browser = try await place.start(Places.python, look + [chromium, "file://" + page] + steps).ended()
        #expect(browser.status == 0, "\(browser)")
        try Data(try await place.pixels(of: place.path("page.png"))).write(to: URL(filePath: place.path("out.rgb")))
        try check(route)
    }

    // MARK: In

    private static let bars = "ffmpeg -nostdin -loglevel error -i $D/bars.png"

    static let into: [Route] = [
        Route(
            name: "Y4M of full range from ffmpeg",
            options: "",
            other: "\(bars) -pix_fmt yuvj420p -f yuv4mpegpipe -"
        ),
        Route(
            name: "Y4M of limited range from ffmpeg",
            options: "",
            other: "\(bars) -pix_fmt yuv420p -f yuv4mpegpipe -"
        ),
        Route(
            name: "Y4M of limited range and BT.709 from ffmpeg",
            options: "--matrix bt709",
            other: "\(bars) -vf scale=out_color_matrix=bt709:out_range=tv -pix_fmt yuv420p -f yuv4mpegpipe -"
        ),
        Route(
            name: "yuv420p from ffmpeg",
            options: "--size 640x360 --format i420 --range limited",
            other: "\(bars) -pix_fmt yuv420p -f rawvideo -"
        ),
        Route(
            name: "yuvj420p from ffmpeg",
            options: "--size 640x360 --format i420",
            other: "\(bars) -pix_fmt yuvj420p -f rawvideo -"
        ),
        Route(
            name: "NV12 of BT.709 from ffmpeg",
            options: "--size 640x360 --format nv12 --range limited --matrix bt709",
            other: "\(bars) -vf scale=out_color_matrix=bt709:out_range=tv -pix_fmt nv12 -f rawvideo -"
        ),
        Route(
            name: "BGRA from ffmpeg",
            options: "--size 640x360 --format bgra",
            other: "\(bars) -pix_fmt bgra -f rawvideo -"
        ),
        Route(
            name: "I420 with padded rows",
            options: "--size 640x360 --format i420 --range limited --stride 704,352,352",
            other: "\(bars) -vf pad=704:360:0:0 -pix_fmt yuv420p -f rawvideo -"
        ),
        Route(
            name: "motion JPEG from ffmpeg",
            options: "--passthrough",
            other: "\(bars) -pix_fmt yuvj420p -q:v 2 -f mjpeg -"
        ),
    ]

    @Test(arguments: into) func `colors are sent as they were read`(_ route: Route) async throws {
        let receiver = try place.shell("$F receive $S --count 1 --quiet --raw rgb >$D/out.rgb")
        let sent = try await place.shell(
            "\(route.other) | $F send $S - \(route.options) --quality 95 --wait 30 --quiet".replacing(
                "--passthrough --quality 95",
                with: "--passthrough"
            )
        ).ended()
        #expect(sent.status == 0, "\(sent)")
        let ending = await receiver.ended()
        #expect(ending.status == 0, "\(ending)")
        try check(route)
    }
}
