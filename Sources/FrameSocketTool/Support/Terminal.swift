import FrameSocket

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// Standard output and standard error.
enum Terminal {
    /// Whether a person sees standard error.
    static let isInteractive = isatty(STDERR_FILENO) == 1

    /// Checks that frames may go to standard output: a terminal shows nothing of them, and may take them for commands.
    static func checkTakesBytes() throws(UsageError) {
        guard isatty(STDOUT_FILENO) == 1 else { return }
        throw UsageError(message: "standard output is a terminal; redirect it to a file or pipe it to a program")
    }

    /// Whether the process has a controlling terminal.
    static var isControlling: Bool {
        let descriptor = unsafe open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC)
        guard descriptor >= 0 else { return false }
        close(descriptor)
        return true
    }

    /// Tells a person something, on standard error.
    static func say(_ text: String) {
        write(text + "\n", to: STDERR_FILENO)
    }

    /// Shows a line that the next one replaces; nothing where nobody looks.
    static func showProgress(_ text: String) {
        if isInteractive { write("\r\u{1B}[K" + text, to: STDERR_FILENO) }
    }

    /// Ends the line that ``showProgress(_:)`` left standing.
    static func endProgress() {
        if isInteractive { write("\r\u{1B}[K", to: STDERR_FILENO) }
    }

    /// Writes a line to standard output.
    ///
    /// - Throws: `brokenPipe` where its reader has gone.
    static func print(_ line: String) throws(Files.Failure) {
        try Files.write(Array((line + "\n").utf8).span, to: STDOUT_FILENO, name: "standard output")
    }

    private static func write(_ text: String, to descriptor: Int32) {
        try? Files.write(Array(text.utf8).span, to: descriptor, name: "standard error")
    }
}
