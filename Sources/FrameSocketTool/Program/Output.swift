import FrameSocket
import Locking

/// Lines for somebody who may stop reading, which must hold up nobody.
///
/// A reader that does not read is waited for once, for a second. Then lines are left out and counted, until it reads again.
final class LineOutput: Sendable {
    /// How long a line may wait, in milliseconds.
    private static let patience = Int32(clamping: TimeLimit.of(.seconds(1)).nanoseconds / 1_000_000)
    /// What a pipe takes without waiting if it takes anything.
    private static let pieceSize = Int(PIPE_BUF)

    private let descriptor: Int32
    private let name: String
    private let notice: @Sendable (Int) -> String?
    /// How many texts were left out since the reader stopped reading.
    private let omitted = Locked(0)

    /// Creates an output.
    ///
    /// - Parameters:
    ///   - descriptor: Where to write.
    ///   - name: What that is, for the failure.
    ///   - notice: The line that reports how many texts were left out; nil for none.
    init(_ descriptor: Int32, name: String, notice: @escaping @Sendable (Int) -> String? = { _ in nil }) {
        (self.descriptor, self.name, self.notice) = (descriptor, name, notice)
    }

    /// Waits for the reader no longer: it has been waited for.
    func abandon() { omitted.withLock { $0 = max(1, $0) } }

    /// Writes a text, or leaves it out.
    ///
    /// - Throws: The system's error.
    func write(_ text: String) throws(CommandFailure) {
        try omitted.withLock { omitted throws(CommandFailure) in
            let notice = omitted > 0 ? notice(omitted).map { $0 + "\n" } ?? "" : ""
            let bytes = Array((notice + text).utf8)
            for start in stride(from: 0, to: bytes.count, by: Self.pieceSize) {
                guard Files.takes(descriptor, within: omitted > 0 ? 0 : Self.patience) else {
                    // What has begun is cut off.
                    omitted += 1
                    return
                }
                omitted = 0
                let piece = bytes[start...].prefix(Self.pieceSize)
                try Files.write(piece.span, to: descriptor, name: name)
            }
        }
    }
}

/// Standard output and standard error.
enum Terminal {
    private static let errors = LineOutput(STDERR_FILENO, name: "standard error") { count in
        "framesocket: \(Format.count(count, "line")) left out here, because nobody read"
    }
    /// Standard output, for what nobody waits for.
    private static let readings = LineOutput(STDOUT_FILENO, name: "standard output")
    private static let isAbandoned = Locked(false)

    /// Whether standard error is a terminal.
    static let isInteractive = isatty(STDERR_FILENO) == 1

    /// Checks that frames may go to standard output: a terminal cannot show them, and may interpret them as commands.
    static func checkTakesBytes() throws(UsageError) {
        guard isatty(STDOUT_FILENO) == 1 else { return }
        throw UsageError(message: "standard output is a terminal; redirect it to a file or pipe it to a program")
    }

    /// Checks that bytes may be read from standard input: nobody can type them.
    static func checkGivesBytes() throws(UsageError) {
        guard isatty(STDIN_FILENO) == 1 else { return }
        throw UsageError(message: "standard input is a terminal; redirect it from a file, or pipe a program to it")
    }

    /// Whether the process has a controlling terminal.
    static var isControlling: Bool {
        let descriptor = unsafe open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC)
        guard descriptor >= 0 else { return false }
        close(descriptor)
        return true
    }

    /// Prints a message for a person, on standard error: one line, whatever is in the names and foreign texts that it shows.
    static func say(_ text: String) {
        try? errors.write(erasure + text.visible + "\n")
    }

    /// Prints a text of this program's own, which may have several lines.
    static func say(lines text: String) {
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) { say(String(line)) }
    }

    /// What erases the line that shows progress, if there is one.
    private static let erasure = canErase ? "\r\u{1B}[K" : ""

    /// Whether a line on standard error can be replaced.
    private static let canErase = unsafe isInteractive && getenv("TERM").map { unsafe String(cString: $0) } != "dumb"

    /// The columns of the window, which may change; nil if the terminal does not know.
    private static var columns: Int? {
        var size = winsize()
        guard unsafe ioctl(STDERR_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return nil }
        return Int(size.ws_col)
    }

    /// Shows a line that the next one replaces, as far as it fits; does nothing unless standard error is a terminal that can.
    static func showProgress(_ text: @autoclosure () -> String) {
        guard canErase else { return }
        // A line that is wrapped cannot be erased, and some terminals wrap one that fills the window.
        try? errors.write(erasure + text().visible.prefix(columns.map { max(0, $0 - 1) } ?? .max))
    }

    /// Writes a line to standard output, and waits for its reader.
    ///
    /// - Throws: The system's error; `isBrokenPipe` if its reader has gone.
    static func print(_ line: String) throws(CommandFailure) {
        guard !isAbandoned.withLock({ $0 }) else { return try offer(line) }
        try Files.write(Array((line + "\n").utf8), to: STDOUT_FILENO, name: "standard output")
    }

    /// Writes a line to standard output, or leaves it out if nobody reads there.
    static func offer(_ line: String) throws(CommandFailure) { try readings.write(line + "\n") }

    /// Waits for the reader of standard output no longer.
    static func abandonOutput() {
        readings.abandon()
        isAbandoned.withLock { $0 = true }
    }
}

/// What a command reports: events on standard output, if `--json` asks for them, or else sentences for a person.
///
/// JSON has every event, except refusals that repeat. Sentences that repeat are limited, whatever senders do.
final class Reporter: Sendable {
    let isJSON: Bool
    let isQuiet: Bool
    private let command: String
    private let limit = Locked(ReportLimit())
    private let failure = Latch<CommandFailure>()
    private let failed: @Sendable (CommandFailure) -> Void

    /// Creates a reporter.
    ///
    /// - Parameters:
    ///   - command: The name of the command.
    ///   - isJSON: Whether events are wanted.
    ///   - isQuiet: Whether no sentences are.
    ///   - failed: Called if an event cannot be written.
    init(
        _ command: String,
        isJSON: Bool,
        isQuiet: Bool,
        failed: @escaping @Sendable (CommandFailure) -> Void = { _ in }
    ) {
        (self.command, self.isJSON, self.isQuiet, self.failed) = (command, isJSON, isQuiet, failed)
    }

    /// Writes an event.
    func print(_ line: JSONLine) {
        guard isJSON else { return }
        do {
            try Terminal.print(line.text)
        } catch {
            failure.set(error)
            failed(error)
        }
    }

    /// Prints a sentence for a person, if nobody gets events.
    func say(_ sentence: String) {
        guard !isJSON, !isQuiet else { return }
        Terminal.say(sentence)
    }

    /// Reports something without which the command goes on, to scripts and people.
    ///
    /// - Parameters:
    ///   - message: What happened.
    ///   - code: The code of the event.
    ///   - always: Whether people are told even if they want to know of failures alone.
    ///   - kind: What limits how often it is told; nil if nothing does.
    func warn(
        _ message: String,
        code: String = "file.unfit",
        always: Bool = true,
        of kind: ReportLimit.Kind? = nil
    ) {
        guard let omitted = limit.withLock({ $0.admit(kind.map { [$0] } ?? [], at: MonotonicClock.now()) }) else {
            return
        }
        let message = Self.text(message, after: omitted)
        if always || !isQuiet {
            Terminal.say("framesocket \(command): \(message)")
        }
        print(ServerEvent.failed(code: code, message: message).json)
    }

    /// Checks that all events could be written; a reader that has gone is no failure.
    func check() throws(CommandFailure) {
        guard let failure = failure.value, !failure.isBrokenPipe else { return }
        throw failure
    }

    // MARK: Senders

    /// Reports an event at a server.
    func report(_ event: ServerEvent) {
        guard isJSON || (!isQuiet && event.sentence != nil), let omitted = admit(event) else { return }
        print(event.json)
        if let sentence = event.sentence { say(Self.text(sentence, after: omitted)) }
    }

    private static func text(_ text: String, after omitted: Int) -> String {
        omitted > 0 ? "\(text) (\(Format.count(omitted, "similar message")) left out before)" : text
    }

    /// The number of messages for a person that were left out so far.
    var omitted: Int { isJSON ? 0 : limit.withLock { $0.omitted } }

    /// Returns how many similar events were left out before this one; nil if it is left out itself.
    func admit(_ event: ServerEvent, at now: UInt64 = MonotonicClock.now()) -> Int? {
        // Only refusals come from senders that may not send anything.
        guard let kinds = event.kinds, !isJSON || event.isRefusal else { return 0 }
        return limit.withLock { limit in
            if let last = event.last { limit.forget(last) }
            return limit.admit(kinds, at: now)
        }
    }
}

/// How often a person is told of the same kind of thing: a few times at once, then at a rate.
///
/// Whatever a peer repeats, its messages stay readable, and leave room for those about others.
struct ReportLimit {
    /// Something that is told at most `burst` times at once, and `perSecond` times each second after that.
    struct Kind {
        let name: String
        let burst: Double
        let perSecond: Double
    }

    /// How many kinds are told apart.
    private static let maximumKinds = 1000

    /// When each kind has all of its room again, in nanoseconds, and how many of it were left out.
    private var kinds: [String: (fullAt: Double, omitted: Int)] = [:]
    /// The number of messages that were left out.
    private(set) var omitted = 0

    /// Admits a message that is of several kinds, if each has room for it.
    ///
    /// - Parameters:
    ///   - kinds: The kinds, the closest first: the others' room is left to others of their kind.
    ///   - now: Nanoseconds of the monotonic clock.
    /// - Returns: How many of the first kind were left out before; nil if it is left out itself.
    mutating func admit(_ kinds: [Kind], at now: UInt64) -> Int? {
        // The others share one.
        let names = kinds.map { self.kinds[$0.name] == nil && self.kinds.count >= Self.maximumKinds ? "" : $0.name }
        guard let first = names.first else { return 0 }
        // A message moves the moment on by what it takes of the rate; a burst is how far that may be ahead.
        let next = zip(names, kinds).map { name, kind in
            (fullAt: max(Double(now), self.kinds[name]?.fullAt ?? 0) + 1e9 / kind.perSecond, kind: kind)
        }
        guard next.allSatisfy({ $0.fullAt - Double(now) <= $0.kind.burst / $0.kind.perSecond * 1e9 }) else {
            self.kinds[first, default: (0, 0)].omitted += 1
            omitted += 1
            return nil
        }
        let count = self.kinds[first]?.omitted ?? 0
        for (name, next) in zip(names, next) { self.kinds[name, default: (0, 0)].fullAt = next.fullAt }
        self.kinds[first]?.omitted = 0
        return count
    }

    /// Forgets a kind of which there is nothing more to tell.
    mutating func forget(_ kind: String) { kinds[kind] = nil }
}
