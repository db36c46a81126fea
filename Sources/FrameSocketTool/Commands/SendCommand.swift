import FrameSocket
import PNGReading

/// `framesocket send`: sends images to a server, every one of them.
struct SendCommand: Command {
    static let name = "send"
    static let summary = "send images, a directory of images, or video from standard input"
    static let help = """
        Usage: framesocket send PATH FILE... [options]
               framesocket send PATH - [options]
               framesocket send PATH - --size WxH --format FORMAT [options]

        Sends every image to the server at PATH, or at tcp:PORT on this machine, in
        order. FILE is a JPEG or PNG file, or a directory of such files; - reads a
        stream of JPEGs, one after another, or Y4M from standard input, or raw video if
        its size and format are given. The images of a directory are sent in the order
        of their numbers: frame-2 before frame-10. If there are several files, one that
        cannot be read or sent is skipped, and the exit code is 65. So is a part of a
        stream of JPEGs that is damaged. Of a file that holds several images, the first
        is sent, the exit code is 65, and the message names a command that sends all.

        Frames:
          --fps N          send at most N frames a second; by default, as fast as they
                           are accepted
          --loop N         send the files N times (1); 0 repeats endlessly; a file that
                           has changed is read again
          --stop-after N   end after N frames
          --orientation N  orientation of the images, 1 to 8 (1); 0 for unknown
          --background C   color behind transparent pixels of PNG files: white, black or
                           #rrggbb (white)
          --lenient        also send JPEGs that deviate from the format in ways that
                           libjpeg-turbo reads, as some cameras write them
          --passthrough    send JPEGs unchanged, up to their end marker
          --force          also send files that receivers reject by default: with
                           --passthrough, whatever states a size. JPEGs on standard
                           input are not checked with --passthrough, except for their
                           size, and those without an end marker are decoded

        \(SendOptions.help)

        Raw video:
          --size WxH       size of raw video
          --format FORMAT  format of raw video, one of
                           \(PixelFormat.allCases.map(\.rawValue).joined(separator: " "))
        \(RawVideoOptions.help)

        Connection:
          --audio FILE     also send the audio of a file (WAVE, FLAC, Ogg, AIFF and what
                           else libsndfile reads), at its own pace, to a receiver that
                           asks for it; - is standard input
          --info KEY=VALUE state a value about this side to a receiver that says hello;
                           at most 16, of 4 KiB together
        \(HandshakeTokenFiles.help)
          --wait S         seconds to wait for a server with a free slot (5), also when
                           the receiver has gone; 0 for one attempt
          --no-padding     do not pad bodies under 10,240 bytes, which make existing
                           Jitsi receivers hang

        Output:
          --json           print one JSON object per line for each event
          --quiet          print nothing but failures on standard error

        Examples:
          framesocket send PATH photos --fps 5 --loop 0
          framesocket send PATH screen.png --scale 1/2 --quality 40-90
          ffmpeg -i a.mp4 -pix_fmt yuv420p -f yuv4mpegpipe - | framesocket send PATH -
        """

    let endpoint: SocketEndpoint
    let tokens: HandshakeTokenFiles?
    /// What this side states about itself.
    let info: ControlRequest.SessionInfo
    let audio: String?
    let stopAfter: Int?
    let paths: [String]
    let rawFormat: (width: Int, height: Int, format: PixelFormat)?
    let rawOptions: RawVideoOptions
    let fps: Double?
    let loops: Int
    /// The color behind transparent pixels of files.
    let background: PNGBackground
    let orientation: FrameOrientation
    let isPassthrough: Bool
    /// Whether JPEGs that deviate from the format are accepted.
    let isLenient: Bool
    /// Whether to send what receivers reject.
    let isForced: Bool
    let padsShortBodies: Bool
    let wait: Double
    let isJSON: Bool
    let isQuiet: Bool
    let configuration: SampleUploader.Configuration
    /// The file of the configuration's watermark, which is yet to be read.
    let watermark: WatermarkFile?

    init(_ arguments: inout Arguments) throws(UsageError) {
        fps = try arguments.number("--fps")
        let loops = try arguments.integer("--loop", in: 0...(.max)) ?? 1
        self.loops = loops == 0 ? .max : loops
        let options = try SendOptions(&arguments)
        var configuration = options.configuration
        watermark = options.watermark
        audio = try arguments.path("--audio")
        var info = try arguments.info()
        info.offersAudio = audio != nil
        self.info = info
        stopAfter = try arguments.integer("--stop-after", in: 1...(.max))
        tokens = try arguments.tokens()
        let background = try arguments.value("--background", "white, black or #rrggbb") { PNGBackground(parsing: $0) }
        self.background = background ?? .white
        let orientation = try arguments.integer("--orientation", in: 0...8) ?? 1
        self.orientation = FrameOrientation(rawValue: UInt8(orientation)) ?? .unknown
        isPassthrough = arguments.flag("--passthrough")
        isLenient = arguments.flag("--lenient")
        isForced = arguments.flag("--force")
        if isForced {
            configuration.limits.maximumDimension = .max
            configuration.limits.maximumPixels = .max
            configuration.limits.maximumContentLength = .max
        }
        self.configuration = configuration
        padsShortBodies = !arguments.flag("--no-padding")
        let size = try arguments.size("--size")
        let formats = PixelFormat.allCases.map(\.rawValue).joined(separator: ", ")
        let format = try arguments.value("--format", "one of \(formats)") { PixelFormat(rawValue: $0) }
        rawOptions = try RawVideoOptions(&arguments)
        wait = try arguments.number("--wait", orZero: true) ?? 5
        isJSON = arguments.flag("--json")
        isQuiet = arguments.flag("--quiet")
        try arguments.exclude("--passthrough", "--shared", because: "shared images are not encoded")
        let changes = arguments.has([
            "--quality", "--subsampling", "--scale", "--width", "--fit", "--letterbox", "--fill", "--preset", "--agora",
            "--rotate", "--watermark", "--size", "--background",
        ])
        if isPassthrough, changes {
            throw UsageError(message: "--passthrough sends JPEGs unchanged; remove the options that would change them")
        }
        let rest = try arguments.rest()
        guard let path = rest.first, rest.count >= 2 else {
            throw UsageError(message: "send expects the path of a server and at least one file")
        }
        endpoint = try Arguments.endpoint(path)
        if configuration.sharesMemory { try endpoint.checkSharesMemory() }
        paths = Array(rest.dropFirst())
        guard !paths.contains("-") || paths.count == 1 else {
            throw UsageError(message: "standard input (-) cannot be combined with files")
        }
        switch (size, format) {
        case (let size?, let format?) where paths == ["-"]: rawFormat = (size.width, size.height, format)
        case (nil, nil): rawFormat = nil
        default: throw UsageError(message: "raw video requires -, --size and --format together")
        }
        if let format { try rawOptions.check(format) }
        guard rawFormat != nil || rawOptions.strides == nil, paths == ["-"] || !rawOptions.isGiven else {
            throw UsageError(
                message: "--range and --matrix require video on standard input, and --stride requires --size"
            )
        }
        guard audio != "-" || paths != ["-"] else {
            throw UsageError(message: "standard input (-) cannot have both images and --audio")
        }
        guard background == nil || paths != ["-"] else {
            throw UsageError(message: "--background requires files: video on standard input has no transparency")
        }
        guard paths != ["-"] || loops == 1 else {
            throw UsageError(message: "standard input (-) cannot be sent more than once")
        }
        if paths == ["-"] || audio == "-" { try Terminal.checkGivesBytes() }
    }

    /// Whether files are sent, as opposed to standard input.
    var sendsFiles: Bool { paths != ["-"] }

    private func makeSource() throws(CommandFailure) -> any ImageSource {
        if let rawFormat {
            return try VideoSource(
                width: rawFormat.width,
                height: rawFormat.height,
                format: rawFormat.format,
                rawOptions
            )
        }
        if paths == ["-"] { return StreamSource(rawOptions, isPassthrough: isPassthrough) }
        return FileSource(try InputFiles.expand(paths), loops: loops, over: background)
    }

    func run() async throws(CommandFailure) {
        let reporter = Reporter("send", isJSON: isJSON, isQuiet: isQuiet)
        try await Destination.run(to: endpoint, reporter, event: Self.event, summary: summary) {
            () throws(CommandFailure) in
            try ImageSender(self, makeSource(), reporter)
        }
    }

    private static func event(of totals: SentTotals) -> JSONLine {
        [
            "event": "sent", "offered": totals.offered, "frames": totals.frames,
            "dropped": totals.drops.values.reduce(0, +), "bytes": totals.bytes,
            "shared": totals.shared > 0 ? totals.shared : nil,
            "sharpened": totals.sharpened > 0 ? totals.sharpened : nil,
        ]
    }

    private func summary(of totals: SentTotals) -> String? {
        guard totals.offered > 0 else { return nil }
        var parts = [
            "sent \(Format.count(totals.frames, "frame")) of \(totals.offered)",
            Format.bytes(totals.bytes),
            "\(totals.rate) frames/s",
            "encoding \(Format.milliseconds(totals.encoding.mean))",
            "transfer \(Format.milliseconds(totals.transfer.mean))",
        ]
        if configuration.sharesMemory {
            parts.insert("\(totals.shared == 0 ? "none" : "\(totals.shared)") in shared memory", at: 1)
        }
        if totals.sharpened > 0 {
            parts.append("\(totals.sharpened) sent again at the highest quality")
        }
        for cause in SampleUploader.DropCause.allCases {
            if let count = totals.drops[cause] { parts.append("\(count) dropped: \(cause)") }
        }
        return parts.joined(separator: ", ")
    }
}
