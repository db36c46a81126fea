import FrameSocket

/// The options of `send` that say what is sent of each picture, and how often.
struct SendOptions {
    static let help = """
          --quality Q      quality of the JPEGs, 1 to 100 (80)
          --subsampling S  4:4:4, 4:2:2, 4:2:0, 4:4:0, 4:1:1 or gray (4:2:0)
          --scale N/D      send a fraction of width and height
          --width N        at most N pixels wide, as NetEase sends (720)
          --fit WxH        at most that size, in proportion
          --letterbox WxH  just that size, black where the picture is not
          --fill WxH       just that size, cut where the picture overhangs
          --agora          640x360 or 360x640 as Agora picks it
          --rotate         turn pictures upright before they are sent
          --rate N         at most N frames a second of the pictures' own time
          --every N        every N-th picture, as Jitsi does (3)
          --skip-unchanged leave out pictures that equal the one before
          --no-strips      encode whole pictures, without restart markers
          --plain          send no fields but those that deployed senders send
        """

    let configuration: SampleUploader.Configuration
    /// Whether any option wants another picture than the one that is handed in.
    let changesPictures: Bool

    init(_ arguments: inout Arguments) throws(UsageError) {
        let quality = try arguments.integer("--quality", in: 1...100)
        let subsampling = try arguments.value("--subsampling", "4:4:4, 4:2:2, 4:2:0, 4:4:0, 4:1:1 or gray") {
            ChromaSubsampling(name: $0)
        }
        let scale = try Self.scale(&arguments)
        let isTurned = arguments.flag("--rotate")
        changesPictures = quality != nil || subsampling != nil || scale != nil || isTurned
        configuration = SampleUploader.Configuration(
            quality: quality ?? 80,
            scale: scale ?? .full,
            subsampling: subsampling ?? .yuv420,
            pacing: try Self.pacing(&arguments),
            appliesOrientation: isTurned,
            sendsTiming: !arguments.flag("--plain"),
            strips: arguments.flag("--no-strips") ? .off : .automatic
        )
    }

    private static func scale(_ arguments: inout Arguments) throws(UsageError) -> OutputScale? {
        let choices = [
            try arguments.value("--scale", "a fraction such as 1/2") { OutputScale(parsing: $0) },
            try arguments.integer("--width", in: 1...65_500).map { .width($0) },
            try arguments.size("--fit").map { .fit(width: $0.width, height: $0.height) },
            try arguments.size("--letterbox").map { .letterbox(width: $0.width, height: $0.height) },
            try arguments.size("--fill").map { .fill(width: $0.width, height: $0.height) },
            arguments.flag("--agora") ? .agora : nil,
        ].compactMap(\.self)
        guard choices.count <= 1 else {
            throw UsageError(message: "only one of --scale, --width, --fit, --letterbox, --fill and --agora can be had")
        }
        return choices.first
    }

    private static func pacing(_ arguments: inout Arguments) throws(UsageError) -> Pacing {
        let rate = try arguments.number("--rate")
        let every = try arguments.integer("--every", in: 1...(.max))
        guard rate == nil || every == nil else { throw UsageError(message: "--rate and --every exclude each other") }
        let pacing = rate.map { Pacing.framesPerSecond($0) } ?? every.map { Pacing.every($0) } ?? .everyFrame
        return arguments.flag("--skip-unchanged") ? pacing.skippingUnchanged() : pacing
    }
}
