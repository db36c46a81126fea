import FrameSocket
import Locking

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
          --wait S         seconds to wait for a server with a free slot (5); 0 for one
                           attempt
          --json           print one JSON object per line for each event
          --quiet          print nothing but failures on standard error
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

    /// What is known of a replay at its end.
    private struct State {
        var replay: FileReplay?
        /// Whether the command was typed wrong, so that nothing is reported.
        var isUsageError = false
    }

    func run() async throws(CommandFailure) {
        let events = EventOutput(isOn: isJSON)
        let state = Locked(State())
        let outcome: Result<Void, CommandFailure> = await Interruption.around {
            // Files and sockets block, so they are used on a thread of their own.
            await withPreference(for: IOThread()) {
                do throws(CommandFailure) {
                    try ServerLink.checkIsSocket(endpoint)
                    let input = try open()
                    guard loops == 1 || input.isRepeatable else {
                        throw CommandFailure(.usage, "\(file): a pipe cannot be sent more than once")
                    }
                    try check(input)
                    let replay = try FileReplay(self, events)
                    state.withLock { $0.replay = replay }
                    try await replay.send(input)
                    return Result<Void, CommandFailure>.success(())
                } catch {
                    state.withLock { $0.isUsageError = error.code == .usage }
                    return .failure(error)
                }
            }
        } end: {
            let state = state.withLock { $0 }
            await state.replay?.close()
            Terminal.endProgress()
            if !state.isUsageError { events.print(state.replay?.event ?? Self.nothing) }
            if !isQuiet, let replay = state.replay { Terminal.say(replay.sentence) }
        }
        try outcome.get()
        try events.check()
    }

    /// Checks that the file begins as a recording does.
    private func check(_ input: InputFile) throws(CommandFailure) {
        let start: ArraySlice<UInt8>
        do {
            start = try input.peek(FileKind.byteCount)
        } catch {
            throw CommandFailure(.noInput, error.message)
        }
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

    /// The event of a replay of which nothing is known but that nothing was sent.
    private static var nothing: JSONLine {
        var line = JSONLine(event: "sent")
        line.add("frames", 0)
        line.add("bytes", 0)
        return line
    }

    /// Reports something without which the replay continues.
    func report(_ failure: CommandFailure, to events: EventOutput) {
        events.print(JSONLine(errorCode: "file.unfit", failure.message, connection: Int?.none))
        if !isQuiet { Terminal.say("framesocket replay: \(failure.message)") }
    }

    /// Reports to scripts and people that the file ends too early.
    func reportCut(_ input: InputFile, to events: EventOutput) {
        let message = "\(input.name) is cut off after its last frame"
        events.print(JSONLine(errorCode: "file.truncated", message, connection: Int?.none))
        if !isQuiet { Terminal.say("framesocket replay: \(message)") }
    }

    /// Opens the file, which is read from its beginning each time.
    func open() throws(CommandFailure) -> InputFile {
        do {
            return try InputFile(file)
        } catch {
            throw CommandFailure(.noInput, error.message)
        }
    }
}

/// When recorded events are due during a replay.
struct ReplayPace {
    private let speed: Double
    private let clock = ContinuousClock()
    private let start: ContinuousClock.Instant
    /// When the replay began, on the clock of timestamps.
    private let startedAt = MonotonicClock.now()
    private var last: UInt64?
    /// The part of the recording that has been replayed, since its beginning.
    private var elapsed: UInt64 = 0
    /// What had elapsed when this recording began, and the number of distances in it so far.
    private var begun: UInt64 = 0
    private var distances: UInt64 = 0

    init(speed: Double) {
        self.speed = speed
        start = clock.now
    }

    /// Advances to what was recorded at `time`; what is not later than its predecessor is due at once.
    mutating func advance(to time: UInt64) {
        if let last {
            if time > last { elapsed = elapsed.addingReportingOverflow(time - last).partialValue }
            distances += 1
        }
        last = time
    }

    /// Advances to another recording, which begins a mean distance after the last event of this one.
    mutating func rewind() {
        if distances > 0 {
            let mean = elapsed.subtractingReportingOverflow(begun).partialValue / distances
            elapsed = elapsed.addingReportingOverflow(mean).partialValue
        }
        (begun, distances, last) = (elapsed, 0, nil)
    }

    /// The timestamp of what is due: its distance from the first, in the replay's time.
    ///
    /// As fast as possible, the distances are those of the recording.
    var timestamp: UInt64 {
        let scaled = speed > 0 ? Double(elapsed) / speed : 0
        let offset = speed == 0 || speed == 1 ? elapsed : UInt64(exactly: min(scaled, 1e18).rounded()) ?? 0
        return startedAt.addingReportingOverflow(offset).partialValue
    }

    /// Waits until it is due.
    func wait() async {
        guard speed > 0 else { return }
        try? await clock.sleep(until: start + .seconds(min(Double(elapsed) / 1e9 / speed, 1e9)))
    }
}
