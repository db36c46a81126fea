import Locking

/// The events of a command on standard output, if `--json` asks for them, and what became of writing them.
///
/// A reader that has gone is no failure: the command works on without it.
final class EventOutput: Sendable {
    private let isOn: Bool
    private let failed: @Sendable () -> Void
    private let failure = Locked<Files.Failure?>(nil)

    /// Creates an output.
    ///
    /// - Parameters:
    ///   - isOn: Whether events are wanted.
    ///   - failed: Called if an event cannot be written.
    init(isOn: Bool, failed: @escaping @Sendable () -> Void = {}) {
        self.isOn = isOn
        self.failed = failed
    }

    /// Writes an event.
    func print(_ line: JSONLine) { print(line.text) }

    /// Writes an event.
    func print(_ line: String) {
        guard isOn else { return }
        do {
            try Terminal.print(line)
        } catch {
            guard !error.isBrokenPipe else { return }
            failure.withLock { if $0 == nil { $0 = error } }
            failed()
        }
    }

    /// Checks that all events could be written.
    func check() throws(CommandFailure) {
        if let failure = failure.withLock({ $0 }) { throw CommandFailure(.cannotCreate, failure.message) }
    }
}
