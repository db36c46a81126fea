import FrameSocket

/// `framesocket replay`: sends a recording again.
struct ReplayCommand: Command {
    static let name = "replay"
    static let summary = "send a recording again"
    static let help = """
        Usage: framesocket replay PATH FILE [options]

        Sends the frames of FILE, a Matroska file with Motion JPEG as written by
        framesocket record, ffmpeg, GStreamer or mkvmerge, to the server at PATH, or at
        tcp:PORT on this machine, at the pace at which they were recorded. - is standard
        input. FILE may also come first.

        Of a damaged FILE, the frames before the damage are sent; the exit code is 65
        then.

          --speed N        play N times as fast; 0 for as fast as possible (1)
          --loop N         send the file N times (1); 0 repeats endlessly
        \(HandshakeTokenFiles.help)
          --wait S         seconds to wait for a server with a free slot (5), also when
                           the receiver has gone; 0 for one attempt
          --json           print one JSON object per line for each event
          --quiet          print nothing but failures on standard error

        Examples:
          framesocket replay PATH meeting.mkv
          framesocket replay PATH meeting.mkv --speed 2 --loop 0
        """

    let file: String
    let endpoint: SocketEndpoint
    let tokens: HandshakeTokenFiles?
    let speed: Double
    let loops: Int
    let wait: Double
    let isJSON: Bool
    let isQuiet: Bool

    init(_ arguments: inout Arguments) throws(UsageError) {
        speed =
            try arguments.value("--speed", "a number from 0 to a million") { text in
                Double(text).flatMap { $0 == 0 || (1e-6...1e6).contains($0) ? $0 : nil }
            } ?? 1
        let loops = try arguments.integer("--loop", in: 0...(.max)) ?? 1
        self.loops = loops == 0 ? .max : loops
        tokens = try arguments.tokens()
        wait = try arguments.number("--wait", orZero: true) ?? 5
        isJSON = arguments.flag("--json")
        isQuiet = arguments.flag("--quiet")
        let rest = try arguments.rest()
        guard rest.count == 2 else {
            throw UsageError(message: "replay expects the path of a server and a file")
        }
        let isFileFirst = Self.isFileFirst(rest[0], rest[1])
        file = rest[isFileFirst ? 0 : 1]
        endpoint = try Arguments.endpoint(rest[isFileFirst ? 1 : 0])
        guard file != "-" || loops == 1 else {
            throw UsageError(message: "standard input (-) cannot be sent more than once")
        }
        if file == "-" { try Terminal.checkGivesBytes() }
    }

    /// Whether the first operand names the file, an order that `replay` accepts for compatibility.
    private static func isFileFirst(_ first: String, _ second: String) -> Bool {
        if first == "-" || second.hasPrefix("tcp:") { return true }
        if second == "-" || first.hasPrefix("tcp:") { return false }
        return Files.isSocket(second) || (Files.isRegular(first) && !Files.isRegular(second))
    }

    func run() async throws(CommandFailure) {
        let reporter = Reporter("replay", isJSON: isJSON, isQuiet: isQuiet)
        try await Destination.run(to: endpoint, reporter, event: Self.event) { totals in
            "sent \(Format.count(totals.frames, "frame")), \(Format.bytes(totals.bytes))"
        } _: { () throws(CommandFailure) in
            let input = try open()
            guard loops == 1 || input.isRepeatable else {
                throw CommandFailure(.usage, "\(file): a pipe cannot be sent more than once")
            }
            try check(input)
            return try FileReplay(self, input, reporter)
        }
    }

    private static func event(of totals: SentTotals) -> JSONLine {
        ["event": "sent", "frames": totals.frames, "bytes": totals.bytes]
    }

    /// Checks that the file begins as a recording does.
    private func check(_ input: InputFile) throws(CommandFailure) {
        let start = try input.peek(FileKind.byteCount)
        guard !MatroskaReader.begins(start) else { return }
        let kind = FileKind(start)
        // What it is instead, and how to send it, if that is known.
        let remedy =
            switch kind {
            case .jpeg: ", but a JPEG; send it with framesocket send"
            case .empty: ", but empty"
            default: kind.video(in: file).map { ", but \($0)" } ?? ""
            }
        throw CommandFailure(.badData, "\(input.name): not a Matroska file\(remedy)")
    }

    /// Opens the file, which is read from its beginning each time.
    func open() throws(CommandFailure) -> InputFile { try InputFile(file) }
}
