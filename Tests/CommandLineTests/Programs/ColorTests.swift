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

    /// A way for an image, and what it is worth: the options of the end of this program, what the shell puts at the other end of the
    /// pipe, and the least quality in decibels, which is less than 45 if the other end rounds or guesses.
    struct Route: Sendable, CustomTestStringConvertible {
        let options: String
        let other: String
        let least: Double
        var testDescription: String { "\(options) / \(other)" }

        init(_ row: Substring) {
            let cells = row.split(separator: "|", omittingEmptySubsequences: false)
                .map { $0.trimmingCharacters(in: .whitespaces) }
            options = cells[0]
            other = routes.reduce(cells[1]) { $0.replacing($1.0, with: $1.1) }
            least = cells.count > 2 ? Double(cells[2]) ?? .infinity : 45
        }
    }

    private static func rows(_ table: String) -> [Route] { table.split(separator: "\n").map { Route($0) } }

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
        print("color: \(route.testDescription): \(String(format: "%.1f", quality)) dB")
        #expect(quality >= route.least)
    }

    // MARK: Out

    static let out = rows(
        """
        --y4m | FFMPEG -i - RGB
        --y4m --range limited | FFMPEG -i - RGB
        --mjpeg | FFMPEG -f mjpeg -i - RGB
        --raw bgra | FFMPEG RAW -pix_fmt bgra -i - RGB
        --raw nv12 | FFMPEG RAW -pix_fmt nv12 -color_range pc -i - RGB
        --raw nv12 --range limited | FFMPEG RAW -pix_fmt nv12 -i - RGB | 43
        --raw i420 --stride 704,352,352 | FFMPEG WIDE -pix_fmt yuvj420p -i - -vf crop=640:360:0:0 RGB
        --mjpeg | gst-launch-1.0 -q fdsrc ! jpegdec ! SINK
        --raw i420 | GST format=i420 colorimetry=1:4:0:0 ! SINK
        --raw i420 --range limited | GST format=i420 colorimetry=bt601 ! SINK | 39
        --raw nv12 --range limited --matrix bt709 | GST format=nv12 colorimetry=bt709 ! SINK | 39
        --y4m | MPV --demuxer=lavf - ; SEEN
        --raw bgra | MPV --demuxer=rawvideo MPVSIZE --demuxer-rawvideo-mp-format=bgra - ; SEEN
        --mjpeg | MPV --demuxer=lavf --demuxer-lavf-format=mjpeg - ; SEEN
        --y4m --range limited --matrix bt709 | X264 -color_trc iec61966-2-1 -y $D/out.mp4 && FFMPEG -i $D/out.mp4 RGB
        --y4m --range limited --matrix bt709 | X264 -color_trc iec61966-2-1 -y $D/out.mp4 && MPV $D/out.mp4 ; SEEN | 32
        """
    )

    @Test(.needs("gst-launch-1.0", "mpv"), arguments: out) func `colors arrive as they were sent`(_ route: Route)
        async throws
    {
        let pipe = try place.shell("$F receive $S --count 1 --quiet \(route.options) | { \(route.other); }")
        try await place.shell("$F send $S $D/bars.png --quality 95 --wait 30 --quiet").ended(0)
        await pipe.ended(0)
        try check(route)
    }

    // MARK: Browser

    /// Chromium rounds the weights of blue.
    static let browser = rows(
        """
        --y4m | FFMPEG -i - -c:v libx264 -crf 10 -y $D/out.mp4
        --y4m --range limited --matrix bt709 | X264 -color_trc bt709 -y $D/out.mp4 | 36
        """
    )

    @Test(.enabled(if: Places.chromium != nil, "no Chromium runs here"), arguments: browser)
    func `colors arrive in a browser as they were sent`(_ route: Route) async throws {
        let pipe = try place.shell("$F receive $S --count 1 --quiet \(route.options) | \(route.other)")
        try await place.shell("$F send $S $D/bars.png --quality 95 --wait 30 --quiet").ended(0)
        await pipe.ended(0)

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
        try await place.start(Places.python, look + [chromium, "file://" + page] + steps).ended(0)
        let pixels = try await place.run(
            words: "ffmpeg -nostdin -v error -i $D/page.png -pix_fmt rgb24 -f rawvideo -"
        )
        _ = try place.file("out.rgb", pixels)
        try check(route)
    }

    // MARK: In

    static let into = rows(
        """
        | BARS -pix_fmt yuvj420p -f yuv4mpegpipe -
        | BARS -pix_fmt yuv420p -f yuv4mpegpipe -
        --matrix bt709 | BARS -vf HD -pix_fmt yuv420p -f yuv4mpegpipe -
        SIZE i420 --range limited | BARS -pix_fmt yuv420p -f rawvideo -
        SIZE i420 | BARS -pix_fmt yuvj420p -f rawvideo -
        SIZE nv12 --range limited --matrix bt709 | BARS -vf HD -pix_fmt nv12 -f rawvideo -
        SIZE bgra | BARS -pix_fmt bgra -f rawvideo -
        SIZE i420 --range limited --stride 704,352,352 | BARS -vf pad=704:360:0:0 -pix_fmt yuv420p -f rawvideo -
        --passthrough | BARS -pix_fmt yuvj420p -q:v 2 -f mjpeg -
        """.replacing("SIZE", with: "--size 640x360 --format")
    )

    @Test(arguments: into) func `colors are sent as they were read`(_ route: Route) async throws {
        let receiver = try place.shell("$F receive $S --count 1 --quiet --raw rgb >$D/out.rgb")
        try await place.shell(
            "\(route.other) | $F send $S - \(route.options) --quality 95 --wait 30 --quiet".replacing(
                "--passthrough --quality 95",
                with: "--passthrough"
            )
        ).ended(0)
        await receiver.ended(0)
        try check(route)
    }
}

/// Words of the tables, in the order in which they are replaced.
private let routes = [
    ("X264", "FFMPEG -colorspace bt709 -i - -c:v libx264 -crf 10 -color_range tv TO709"),
    ("TO709", "-colorspace bt709 -color_primaries bt709"),
    ("SEEN", "FFMPEG -i $D/mpv/00000001.png RGB"),
    ("MPVSIZE", "--demuxer-rawvideo-w=640 --demuxer-rawvideo-h=360"),
    ("MPV", "mpv --no-config --really-quiet --untimed --no-audio --vo=image --vo-image-format=png OUTPUT"),
    ("OUTPUT", "--vo-image-outdir=$D/mpv"),
    ("GST", "gst-launch-1.0 -q fdsrc ! rawvideoparse width=640 height=360 framerate=30/1"),
    ("SINK", "videoconvert ! video/x-raw,format=RGB ! filesink location=$D/out.rgb"),
    ("BARS", "FFMPEG -nostdin -i $D/bars.png"),
    ("HD", "scale=out_color_matrix=bt709:out_range=tv"), ("RAW", "-f rawvideo -video_size 640x360"),
    ("WIDE", "-f rawvideo -video_size 704x360"), ("FFMPEG", "ffmpeg -loglevel error"),
    (" RGB", " -frames:v 1 -pix_fmt rgb24 -f rawvideo -y $D/out.rgb"),
]
