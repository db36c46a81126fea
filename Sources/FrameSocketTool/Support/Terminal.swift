/// Standard output and standard error.
///
/// Nothing waits for a reader of standard error; see ``LineOutput``.
enum Terminal {
    private static let errors: LineOutput = {
        let output = LineOutput(STDERR_FILENO, name: "standard error") { count in
            "framesocket: \(Format.count(count, "line")) left out here, because nobody read"
        }
        // However the program ends.
        atexit { Terminal.errors.flush() }
        return output
    }()

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
        write(text.visible + "\n")
    }

    /// Prints a text of this program's own, which may have several lines.
    static func say(lines text: String) {
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) { say(String(line)) }
    }

    /// Whether a line on standard error can be replaced.
    private static let canErase = unsafe isInteractive && getenv("TERM").map { unsafe String(cString: $0) } != "dumb"

    /// The columns of the window, which may change; nil if the terminal does not know.
    private static var columns: Int? {
        var size = winsize()
        guard unsafe ioctl(STDERR_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return nil }
        return Int(size.ws_col)
    }

    /// Shows a line that the next one replaces, as far as it fits; does nothing unless standard error is a terminal that can.
    static func showProgress(_ text: String) {
        guard canErase else { return }
        // A line that is wrapped cannot be erased, and some terminals wrap one that fills the window.
        write("\r\u{1B}[K" + text.visible.prefix(columns.map { max(0, $0 - 1) } ?? .max))
    }

    /// Erases the line that ``showProgress(_:)`` left.
    static func endProgress() {
        if canErase { write("\r\u{1B}[K") }
    }

    /// Writes a line to standard output.
    ///
    /// - Throws: The system's error; `isBrokenPipe` if its reader has gone.
    static func print(_ line: String) throws(Files.Failure) {
        try Files.write(Array((line + "\n").utf8), to: STDOUT_FILENO, name: "standard output")
    }

    private static func write(_ text: String) {
        errors.write(text)
    }
}
