import Locking

/// Ctrl-C and SIGTERM.
///
/// They are blocked in every thread, and the main thread waits for them, so that none is lost however early it arrives.
enum Interruption {
    /// What a signal affects.
    private struct State {
        /// How to end what is being done.
        var end: (@Sendable () async -> Void)?
        var isEnding = false
        /// Whether the work has ended, interrupted or not.
        var isWorkDone = false
        var signalCount = 0
        /// Whether the signal came before the work had ended, whose outcome nobody looks at then.
        var isInterrupted = false
        var isTermination = false
        var termination = ExitCode.interrupted
        var drains = false
        var failure: ExitCode?
        /// What follows the interrupted work; it is never resumed, and kept so that it is not leaked.
        var interrupted: CheckedContinuation<Void, Never>?
    }

    private static let state = Locked(State())

    /// The exit code after SIGTERM; by default, the one after Ctrl-C.
    ///
    /// What ends the program may still change it.
    static var termination: ExitCode {
        get { state.withLock { $0.termination } }
        set { state.withLock { $0.termination = newValue } }
    }

    /// The exit code, after every signal, of a failure that came before it and ended nothing.
    static var failure: ExitCode? {
        get { state.withLock { $0.failure } }
        set { state.withLock { $0.failure = newValue } }
    }

    /// Whether a signal is what ends the program.
    static var isInterrupted: Bool { state.withLock { $0.isInterrupted } }

    /// Whether `end` takes its time after SIGTERM, and itself decides when readers of the output are given up.
    static var drains: Bool {
        get { state.withLock { $0.drains } }
        set { state.withLock { $0.drains = newValue } }
    }

    /// Whether SIGTERM is what ends the program.
    static var isTermination: Bool { state.withLock { $0.isTermination } }

    /// Throws if a signal is ending the program: what is created from then on, nobody would remove.
    ///
    /// To be called while holding the lock that `end` takes to find what it has to remove.
    static func check() throws(CommandFailure) {
        guard state.withLock({ !$0.isInterrupted }) else {
            throw CommandFailure(.interrupted, "a signal ended the program")
        }
    }

    /// Runs `program`, which has to exit, while the main thread waits for signals.
    static func watch(_ program: @escaping @Sendable () async -> Void) -> Never {
        var signals = sigset_t()
        unsafe sigemptyset(&signals)
        unsafe sigaddset(&signals, SIGINT)
        unsafe sigaddset(&signals, SIGTERM)
        unsafe sigaddset(&signals, SIGALRM)
        // Before there is a second thread, since threads inherit their mask. Dispatch's own wait of the main thread
        // would reset the mask.
        unsafe pthread_sigmask(SIG_BLOCK, &signals, nil)
        // Makes a write to a pipe without a reader an error instead of a signal.
        signal(SIGPIPE, SIG_IGN)
        // Likewise for a file that may not become larger.
        signal(SIGXFSZ, SIG_IGN)
        // Without a terminal, SIGHUP means nothing to this program.
        if !Terminal.isControlling { signal(SIGHUP, SIG_IGN) }
        ProcessLimits.checkThreads()
        Task { @concurrent in await program() }
        while true {
            var number: Int32 = 0
            if unsafe sigwait(&signals, &number) == 0 { interrupt(by: number) }
        }
    }

    /// Runs `work` and then `end`; if a signal arrives first, runs `end` at once and ends the program.
    ///
    /// `end` has to clean up and to report what was done. Two more signals change nothing, except that SIGINT gives up a
    /// reader that does not read; a fourth ends the program immediately.
    static func around<Value: Sendable>(
        _ work: () async -> Value,
        end: @escaping @Sendable () async -> Void
    ) async -> Value {
        state.withLock { $0.end = end }
        let value = await work()
        let isOurs = state.withLock { state in
            defer { (state.isEnding, state.isWorkDone) = (true, true) }
            return state.end.take() != nil
        }
        // Interrupted work may complete too, and must not end the program before `end` has run.
        if !isOurs {
            await withCheckedContinuation { continuation in
                state.withLock { $0.interrupted = continuation }
            }
        }
        await end()
        return value
    }

    /// How long ``settle()`` waits.
    private static let settleLimit: Duration = .seconds(1)

    /// Waits until the work that a signal has interrupted has ended, which reports what becomes of it; but not long,
    /// because it may be blocked.
    ///
    /// To be called by `end`, once nothing keeps the work from ending.
    static func settle() async {
        let deadline = ContinuousClock.now + settleLimit
        while !state.withLock({ $0.isWorkDone }), ContinuousClock.now < deadline {
            try? await Task.sleep(for: .milliseconds(2))
        }
    }

    /// How long `end` may take after a signal: more than any command needs.
    private static let endLimit = max(.seconds(30), TimeLimit.of(.seconds(30)))

    /// How many signals are taken for one: timeout(1) sends its own twice, to the process and to its group, and a terminal
    /// adds another.
    private static let repetitionLimit = 3

    private static func interrupt(by number: Int32) {
        let (end, isFirst, mustExit, isDraining) = state.withLock { state in
            state.signalCount += 1
            let isFirst = state.signalCount == 1
            let isOneTooMany = state.signalCount > repetitionLimit
            // The alarm ends what an earlier signal began.
            let mustExit = isFirst ? state.end == nil && !state.isEnding : isOneTooMany || number == SIGALRM
            // Whoever insists loses what has not been written, which is no success.
            if isFirst || mustExit { state.isTermination = isFirst && number == SIGTERM }
            if !state.isWorkDone { state.isInterrupted = true }
            return (state.end.take(), isFirst, mustExit, state.isTermination && state.drains)
        }
        if mustExit { exit(code.rawValue) }
        // Whatever hangs, a signal ends the program.
        if isFirst { alarm(UInt32(clamping: endLimit.components.seconds)) }
        // Ctrl-C waits for no reader, even while the program drains.
        if !isDraining || number == SIGINT { BlockedCall.hurry() }
        guard let end else { return }
        Task {
            await end()
            exit(code.rawValue)
        }
    }

    /// The exit code after the signal that has arrived.
    private static var code: ExitCode {
        state.withLock { $0.failure ?? ($0.isTermination ? $0.termination : .interrupted) }
    }
}
