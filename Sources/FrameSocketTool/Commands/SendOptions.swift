import FrameSocket

/// The options of `send` that choose what is sent of each image, and how often.
struct SendOptions {
    static let help = """
        Quality:
          --quality Q      JPEG quality, 1 to 100 (80); 40-90 adapts the quality of each
                           image that changes to what the receiver takes, and sends the
                           last one again at 90 once nothing changes
          --max-rate B     at most B bytes of JPEG a second: images are encoded at lower
                           qualities, from 30 unless --quality says another, or left out
          --prefer-motion  lower the quality before any image is left out; by default,
                           images are left out first, down to 5 a second, or to 1
                           while little of each changes
          --subsampling S  4:4:4, 4:2:2, 4:2:0, 4:4:0, 4:1:1 or gray (4:2:0)

        Size:
          --scale N/D      scale width and height down to this fraction
          --width N        scale down to at most N pixels wide; NetEase sends 720
          --fit WxH        scale down to at most this size, in proportion; here and in
                           the next two, 640x360 means 360x640 for upright images
                           that are higher than wide, and the other way round
          --letterbox WxH  scale to exactly this size, with black borders
          --fill WxH       scale down to this size, cropping what exceeds it; an image
                           that is smaller is only cropped to its proportions
          --preset P       scale down to at most a named size of 16:9: 360p, 540p, 720p,
                           1080p, 1440p or 2160p, which lies or stands as the upright
                           image does; 720p-landscape and 720p-portrait fix that
          --agora          scale down to at most 640x360 or 360x640, as Agora does;
                           with 4:2:0, the sides of --width, --fit, --preset and --agora
                           are even, except those of one pixel
          --rotate         rotate images upright before they are sent
        \(WatermarkFile.help)

        Pace and form:
          --rate N         at most N frames a second of the images' own time
          --every N        send every N-th image; Jitsi sends every third
          --skip-unchanged skip images that equal the previous one
          --shared         send images in shared memory, without encoding, to a receiver
                           on this machine that asks for it
          --no-strips      encode whole images, without restart markers
          --plain          send frames with only the fields that existing Jitsi senders
                           send; a receiver that says hello still gets an answer
        """

    let configuration: SampleUploader.Configuration
    /// What is drawn over every image.
    let watermark: WatermarkFile?
    init(_ arguments: inout Arguments) throws(UsageError) {
        let quality = try arguments.value("--quality", "a whole number from 1 to 100, or a range such as 40-90") {
            Self.quality($0)
        }
        let adaptation = try Self.adaptation(&arguments, quality)
        let subsampling = try arguments.value("--subsampling", "4:4:4, 4:2:2, 4:2:0, 4:4:0, 4:1:1 or gray") {
            ChromaSubsampling(name: $0)
        }
        let scale = try Self.scale(&arguments)
        let rotates = arguments.flag("--rotate")
        let (isPlain, isSharing) = (arguments.flag("--plain"), arguments.flag("--shared"))
        try arguments.exclude("--plain", "--shared", because: "existing Jitsi senders share no memory")
        watermark = try WatermarkFile(&arguments)
        configuration = SampleUploader.Configuration(
            quality: quality?.upperBound ?? 80,
            adaptation: adaptation,
            scale: scale ?? .full,
            subsampling: subsampling ?? .yuv420,
            pacing: try Self.pacing(&arguments),
            appliesOrientation: rotates,
            sendsTiming: !isPlain,
            usesStrips: !arguments.flag("--no-strips"),
            sharesMemory: isSharing
        )
    }

    /// Parses "80" or "40-90"; nil for anything else.
    private static func quality(_ text: String) -> ClosedRange<Int>? {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false).map { Int($0) }
        guard let lower = parts.first ?? nil, parts.count <= 2, let upper = parts.last ?? nil,
            1 <= lower, lower <= upper, upper <= 100, text.utf8.allSatisfy({ $0 != UInt8(ascii: "+") })
        else { return nil }
        return lower...upper
    }

    private static func adaptation(
        _ arguments: inout Arguments,
        _ quality: ClosedRange<Int>?
    ) throws(UsageError) -> SampleUploader.Configuration.Adaptation? {
        let rate = try arguments.integer("--max-rate", in: 1...(.max))
        let prefersMotion = arguments.flag("--prefer-motion")
        var adaptation = SampleUploader.Configuration.Adaptation(maximumByteRate: rate)
        let range = quality.flatMap { $0.count > 1 ? $0 : nil }
        if let range { adaptation.minimumQuality = range.lowerBound }
        if prefersMotion { adaptation.preference = .motion }
        if rate != nil || range != nil { return adaptation }
        guard !prefersMotion else {
            throw UsageError(message: "--prefer-motion requires --max-rate, or a range of --quality such as 40-90")
        }
        return nil
    }

    private static func scale(_ arguments: inout Arguments) throws(UsageError) -> SampleUploader.OutputScale? {
        let choices = [
            try arguments.value("--scale", "a fraction such as 1/2") { SampleUploader.OutputScale(fraction: $0) },
            try arguments.integer("--width", in: 1...65_500).map { .width($0) },
            try arguments.box("--fit").map { .fit(width: $0.width, height: $0.height) },
            try arguments.box("--letterbox").map { .letterbox(width: $0.width, height: $0.height) },
            try arguments.box("--fill").map { .fill(width: $0.width, height: $0.height) },
            try arguments.value("--preset", SampleUploader.OutputScale.presetNames) {
                SampleUploader.OutputScale(presetName: $0)
            },
            arguments.flag("--agora") ? .fit(width: 640, height: 360) : nil,
        ].compactMap(\.self)
        try arguments.exclude("--scale", "--width", "--fit", "--letterbox", "--fill", "--preset", "--agora")
        return choices.first
    }

    private static func pacing(_ arguments: inout Arguments) throws(UsageError) -> SampleUploader.Pacing {
        let rate = try arguments.number("--rate")
        let every = try arguments.integer("--every", in: 1...(.max))
        try arguments.exclude("--rate", "--every")
        let pacing =
            rate.map { SampleUploader.Pacing.framesPerSecond($0) } ?? every.map { SampleUploader.Pacing.every($0) }
            ?? .everyFrame
        return arguments.flag("--skip-unchanged") ? pacing.skippingUnchanged() : pacing
    }
}

extension SampleUploader.OutputScale {
    /// Parses "1/2", "3/4" or "1"; nil for anything else, and for fractions that are 0 or greater than 1.
    fileprivate init?(fraction text: String) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false).map { Int($0) }
        guard let numerator = parts.first ?? nil, numerator >= 1, parts.count <= 2,
            let denominator = parts.count == 2 ? parts[1] : 1, denominator >= numerator
        else { return nil }
        self = numerator == denominator ? .full : .fraction(numerator: numerator, denominator: denominator)
    }

    /// What the names of presets look like, for error messages.
    fileprivate static let presetNames =
        Preset.allCases.map(\.name).joined(separator: ", ") + ", or one of these with -landscape or -portrait"

    /// Parses "720p", "720p-landscape" or "720p-portrait"; nil for anything else.
    fileprivate init?(presetName text: String) {
        for preset in Preset.allCases {
            switch text {
            case preset.name: self = .preset(preset)
            case "\(preset.name)-landscape": self = .preset(preset, rotation: .landscape)
            case "\(preset.name)-portrait": self = .preset(preset, rotation: .portrait)
            default: continue
            }
            return
        }
        return nil
    }
}

extension SampleUploader.OutputScale.Preset {
    /// The name on the command line.
    fileprivate var name: String { "\(rawValue)p" }
}

/// The image that `send` draws over every frame, and where.
struct WatermarkFile {
    static let help = """
          --watermark FILE draw an image over every frame: a PNG with its transparency,
                           or a JPEG
          --watermark-at X,Y,S
                           its left and upper edge, -1 to 1, and its width, up to 1, as
                           fractions of the width and height that are sent, upright
                           (0.1,0.1,0.1)
        """

    private let path: String
    private let place: [Double]

    /// Takes the options; nil if there are none.
    init?(_ arguments: inout Arguments) throws(UsageError) {
        let path = try arguments.path("--watermark")
        let expectation = "X,Y,S, such as 0.1,0.1,0.1: two numbers from -1 to 1, and one above 0 and up to 1"
        let place = try arguments.value("--watermark-at", expectation) { text -> [Double]? in
            let numbers = text.split(separator: ",", omittingEmptySubsequences: false).map { Double($0) ?? .nan }
            guard numbers.count == 3, numbers.allSatisfy({ -1...1 ~= $0 }), numbers[2] > 0 else { return nil }
            return numbers
        }
        try arguments.require("--watermark", for: "--watermark-at")
        guard let path else { return nil }
        (self.path, self.place) = (path, place ?? [0.1, 0.1, 0.1])
    }

    func read() throws(CommandFailure) -> SampleUploader.Watermark {
        let pool = PixelBuffer.Pool()
        var image = try InputImage(file: FilePath(path), over: nil, pool: pool)
        let pixels = try image.pixels(pool, isLenient: false)
        do throws(TurboJPEGError) {
            return try SampleUploader.Watermark(pixels, x: place[0], y: place[1], scale: place[2])
        } catch {
            throw CommandFailure(ExitCode(error), "\(path): \(error)")
        }
    }
}
