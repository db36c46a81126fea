import FrameSocket
import Locking

/// `framesocket receive`: listens at a path and handles frames as the options say.
struct ReceiveCommand: Command {
    static let name = "receive"
    static let summary = "listen at a path and receive frames"
    static let help = """
        Usage: framesocket receive PATH [options]
               framesocket receive --systemd [options]

        Listens at PATH, or at tcp:PORT on this machine, and receives every frame of
        every sender until it is stopped.

        Frames:
          --count N        end after N frames from all senders together
          --timeout S      end after S seconds; exit code 75 unless --count is reached
                           by then or, without --count, a frame that could be used
                           has arrived
          --newest         skip to the latest frame if frames arrive faster than they
                           are handled; skipped frames are counted
          --decode         decode each frame; one that cannot be decoded is an error
          --allow-progressive
                           also decode progressive JPEGs, of up to 100 scans
          --lenient        also decode JPEGs that deviate from the format in ways that
                           libjpeg-turbo reads, as some cameras write them

        Files:
          --output DIR     write each JPEG to DIR/frame-000000.jpg, …, as received
          --overwrite      replace existing frames in DIR, and the file of --audio; by
                           default that is an error
          --keep N         keep only the last N frames in DIR; with --overwrite those of
                           earlier runs count too, and new numbers follow theirs
          --audio FILE     ask for audio, and write the app's audio to a WAVE file
          --wire-log FILE  write the bytes of one connection to FILE, exactly as they
                           arrive: those of the first that sends any. To send them
                           again, use socat -u OPEN:FILE UNIX-CONNECT:PATH
          --metrics FILE   write Prometheus counters to FILE every 5 seconds

        Standard output:
          --json           print one JSON object per line for each event
          --mjpeg          write the JPEGs to standard output, one after another
          --raw FORMAT     write the pixels to standard output; FORMAT is one of
                           \(PixelFormat.allCases.map(\.rawValue).joined(separator: " "))
          --y4m            write the pixels to standard output as YUV4MPEG2, which
                           states their size, range and a rate of 30 frames a second
        \(RawVideoOptions.help)
          --letterbox WxH  scale every image up or down to that size, with black
                           borders; this and the next two with --raw and --y4m. Without
                           them, a change of size ends the video with exit code 65
          --fill WxH       scale every image to cover that size, and crop the rest
          --stretch WxH    scale every image to that size, whatever its proportions
          --upright        rotate images upright (with --raw and --y4m)
          --stats json     print a JSON object every second with rate, size, drops and
                           latency; on standard error if frames go to standard output
          --quiet          print nothing but failures on standard error

        Senders:
          --shared         ask for images in shared memory, which senders on this
                           machine may send without encoding them (not with --mjpeg,
                           --output or --wire-log)
          --prefer-rate N  ask for at most N frames a second
          --prefer-size WxH
                           ask for frames of at most this size
          --prefer-quality Q
                           ask for JPEGs of quality 1 to 100
          --prefer-max-rate B
                           ask for at most B bytes of frames a second
          --hello          say hello to senders, which then report their state and what
                           they state about themselves; the next option, --audio,
                           --shared and --prefer-… do so too
          --info KEY=VALUE state a value about this side to every sender; at most 16, of
                           4 KiB together
          --stop-after N   ask the sender to stop after N frames, and end

        Connection:
        \(HandshakeTokenFiles.help)
          --systemd        listen on the socket that systemd passes, and leave it there
          --socket-name N  name of that socket (FileDescriptorName=), if there are
                           several

        Examples:
          framesocket receive PATH --output frames --count 100
          framesocket receive PATH --y4m | mpv -
          framesocket receive tcp:7000 --token-file token --json
        """

    /// The format of what goes to standard output.
    enum Output {
        case nothing
        case json
        case mjpeg
        case raw(RawOutput.Settings)
    }

    let place: ListeningPlace
    let tokens: HandshakeTokenFiles?
    /// The preferences sent to each sender once it has connected; nil if there are none.
    let requests: [ControlRequest]
    /// What this side states about itself.
    let info: ControlRequest.SessionInfo
    let audio: String?
    let takesNewest: Bool
    /// Whether senders may share memory.
    let acceptsSharedMemory: Bool
    /// Whether senders are asked to stop for good once there are enough frames.
    let stopsSenders: Bool
    let count: Int?
    let directory: String?
    /// Whether existing frames in the directory, and an existing file with audio, are replaced.
    let overwrites: Bool
    /// The number of frames that stay in the directory; nil for all.
    let keep: Int?
    let decodes: Bool
    let decoding: FrameDecoder.Configuration
    let output: Output
    /// The size of raw video, whatever the size of the images.
    let viewport: FrameDecoder.Viewport?
    /// Whether a line a second is printed for scripts.
    let printsStatistics: Bool
    let wireLog: String?
    /// The file for the counters.
    let metrics: String?
    let timeout: Double?
    let isQuiet: Bool

    init(_ arguments: inout Arguments) throws(UsageError) {
        let count = try arguments.integer("--count", in: 1...(.max))
        let stopAfter = try arguments.integer("--stop-after", in: 1...(.max))
        try arguments.exclude("--count", "--stop-after")
        self.count = count ?? stopAfter
        stopsSenders = stopAfter != nil
        takesNewest = arguments.flag("--newest")
        acceptsSharedMemory = arguments.flag("--shared")
        audio = try arguments.path("--audio")
        tokens = try arguments.tokens()
        requests = try Self.requests(&arguments, wantsAudio: audio != nil)
        info = try arguments.info()
        directory = try arguments.path("--output")
        overwrites = arguments.flag("--overwrite")
        keep = try arguments.integer("--keep", in: 1...(.max))
        wireLog = try arguments.path("--wire-log")
        metrics = try arguments.path("--metrics")
        timeout = try arguments.number("--timeout")
        let formats = PixelFormat.allCases.map(\.rawValue).joined(separator: ", ")
        let raw = try arguments.value("--raw", "one of \(formats)") { PixelFormat(rawValue: $0) }
        let isJSON = arguments.flag("--json")
        let isMJPEG = arguments.flag("--mjpeg")
        let isY4M = arguments.flag("--y4m")
        let options = try RawVideoOptions(&arguments)
        let format = raw ?? (isY4M ? .i420 : nil)
        guard format != nil || !options.isGiven else {
            throw UsageError(message: "--range and --matrix require --raw or --y4m, and --stride requires --raw")
        }
        if let format { try options.check(format) }
        guard !isY4M || options.strides == nil else {
            throw UsageError(message: "--stride requires --raw; the rows of Y4M are contiguous")
        }
        let settings = format.map { RawOutput.Settings(format: $0, options: options, isY4M: isY4M) }
        decodes = arguments.flag("--decode") || settings != nil
        var decoding = FrameDecoder.Configuration()
        if arguments.flag("--lenient") { decoding.jpeg.limits = .lenient }
        // Common programs write about ten.
        if arguments.flag("--allow-progressive") { decoding.jpeg.limits.maximumProgressiveScans = 100 }
        viewport = try Self.viewport(&arguments)
        decoding.isUpright = arguments.flag("--upright")
        self.decoding = decoding
        printsStatistics = try arguments.value("--stats", "json") { $0 == "json" ? true : nil } ?? false
        isQuiet = arguments.flag("--quiet")
        try arguments.exclude("--json", "--mjpeg", "--raw", "--y4m")
        guard wireLog != "-" || (!isJSON && !isMJPEG && settings == nil && !printsStatistics) else {
            throw UsageError(
                message: "--wire-log - cannot be combined with --json, --mjpeg, --raw, --y4m or --stats"
            )
        }
        guard audio != "-" || (!isJSON && !isMJPEG && settings == nil && !printsStatistics && wireLog != "-") else {
            throw UsageError(
                message: "--audio - cannot be combined with --json, --mjpeg, --raw, --y4m, --stats or --wire-log -"
            )
        }
        if isMJPEG || settings != nil || wireLog == "-" || audio == "-" { try Terminal.checkTakesBytes() }
        output = settings.map { .raw($0) } ?? (isMJPEG ? .mjpeg : isJSON ? .json : .nothing)
        try arguments.require("--raw", "--y4m", for: "--upright")
        try arguments.require("--output", "--audio", for: "--overwrite")
        try arguments.require("--output", for: "--keep")
        guard metrics != "-" else { throw UsageError(message: "--metrics writes to a file, not to standard output") }
        guard !acceptsSharedMemory || (!isMJPEG && directory == nil && wireLog == nil) else {
            throw UsageError(
                message: "--shared receives images without JPEGs, which --mjpeg, --output and --wire-log need"
            )
        }
        place = try ListeningPlace(&arguments)
        if case .at(let endpoint) = place, acceptsSharedMemory { try endpoint.checkSharesMemory() }
    }

    /// The size of raw video; nil for that of the images.
    private static func viewport(_ arguments: inout Arguments) throws(UsageError) -> FrameDecoder.Viewport? {
        var given: FrameDecoder.Viewport?
        for (name, mode) in [
            ("--letterbox", FrameDecoder.Viewport.Mode.letterbox), ("--fill", .fill), ("--stretch", .stretch),
        ] {
            guard let size = try arguments.box(name) else { continue }
            try arguments.require("--raw", "--y4m", for: name)
            let limit = JPEGDecoder.Limits().maximumPixels
            guard size.width * size.height <= limit else {
                throw UsageError(message: "\(name): at most \(limit) pixels")
            }
            try arguments.exclude("--letterbox", "--fill", "--stretch")
            given = FrameDecoder.Viewport(width: size.width, height: size.height, mode: mode)
        }
        return given
    }

    private static func requests(
        _ arguments: inout Arguments,
        wantsAudio: Bool
    ) throws(UsageError) -> [ControlRequest] {
        var preferences = ControlRequest.Preferences()
        preferences.frameRate = try arguments.number("--prefer-rate")
        preferences.size = try arguments.size("--prefer-size", in: 1...16_384)
        preferences.quality = try arguments.integer("--prefer-quality", in: 1...100)
        preferences.byteRate = try arguments.integer("--prefer-max-rate", in: 1...9_999_999_999)
        var requests: [ControlRequest] = []
        let saysHello = arguments.flag("--hello")
        if saysHello || wantsAudio {
            requests.append(.hello(ControlRequest.Hello(wants: wantsAudio ? [.frames, .audio] : .frames)))
        }
        if preferences != ControlRequest.Preferences() { requests.append(.prefer(preferences)) }
        return requests
    }

    /// The interval at which the counters are written.
    private static let metricsInterval = TimeLimit.of(.seconds(5))

    func run() async throws(CommandFailure) {
        let reception = Reception(self)
        let listening = reception.listening
        let manager = ServiceManager()
        let isService = manager.isThere || place.isPassed
        if isService { signal(SIGHUP, SIG_IGN) }
        let started = Latch<FrameServer>()
        let timeout = timeout
        let outcome = { @Sendable in reception.timeOut(after: timeout ?? 0) }
        // A service manager regards any other code as a failure.
        try await listening.run(for: timeout, or: outcome, termination: isService ? .done : .interrupted) {
            () throws(CommandFailure) in
            let server = try await reception.listen()
            started.set(server)
            manager.tell(.ready(status: "listening at \(server.endpoint)"))
            serve(server, reception, manager)
            try await reception.receive(from: server)
        } ending: {
            // If nobody has been accepted, there is nothing to end.
            guard started.value != nil else { return false }
            manager.tell(.stopping)
            reception.stopSenders()
            return true
        } summary: {
            started.value.flatMap { reception.summarise($0) }
        }
    }

    /// Does what else is to be done while frames arrive.
    private func serve(_ server: FrameServer, _ reception: Reception, _ manager: ServiceManager) {
        let listening = reception.listening
        if metrics != nil { listening.every(Self.metricsInterval) { reception.updateMetrics(server) } }
        if audio != nil { listening.every(.seconds(1)) { await reception.checkSound() } }
        if printsStatistics || (Terminal.isInteractive && !isQuiet) {
            listening.every(.seconds(1)) { await reception.tick() }
        }
        if let interval = manager.watchdogInterval {
            // Sent by way of the thread that reads the sockets: if that hangs, the watchdog is not notified.
            listening.every(interval) { await Task(preferring: IOThread.shared) { manager.tell(.alive) }.value }
        }
    }
}
