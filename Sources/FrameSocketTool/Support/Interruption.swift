import Locking

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// Ctrl-C and the polite form of kill.
///
/// They are blocked in every thread, and the main thread waits for them, so that none is lost however early it comes.
enum Interruption {
    /// What a signal finds.
    private struct State {
        /// How to end what is being done.
        var end: (@Sendable () async -> Void)?
        var isEnding = false
        var isInterrupted = false
        var isTermination = false
        var termination = ExitCode.interrupted
    }

    private static let state = Locked(State())

    /// How the program ends when it is asked to by the polite form of kill; default: as by Ctrl-C.
    static var termination: ExitCode {
        get { state.withLock { $0.termination } }
        set { state.withLock { $0.termination = newValue } }
    }

    /// Whether that is what ends it.
    static var isTermination: Bool { state.withLock { $0.isTermination } }

    /// Runs `program`, which has to exit, and waits for signals meanwhile on the main thread.
    static func watch(_ program: @escaping @Sendable () async -> Void) -> Never {
        var signals = sigset_t()
        unsafe sigemptyset(&signals)
        unsafe sigaddset(&signals, SIGINT)
        unsafe sigaddset(&signals, SIGTERM)
        unsafe sigaddset(&signals, SIGALRM)
        // Before there is a second thread, as each has its mask from the one that made it. Dispatch's own wait of the
        // main thread would take the mask off.
        unsafe pthread_sigmask(SIG_BLOCK, &signals, nil)
        // A write to a pipe without a reader is an error in place of a signal.
        signal(SIGPIPE, SIG_IGN)
        // As is one to a file that may not become larger.
        signal(SIGXFSZ, SIG_IGN)
        // Without a terminal that could hang up it asks for nothing.
        if !Terminal.isControlling { signal(SIGHUP, SIG_IGN) }
        Task { @concurrent in await program() }
        while true {
            var number: Int32 = 0
            if unsafe sigwait(&signals, &number) == 0 { interrupt(by: number) }
        }
    }

    /// Runs `work` and then `end`; when a signal to stop comes before, runs `end` at once and ends the program.
    ///
    /// `end` has to leave things in order, and to tell what was done. A second signal ends the program as it is.
    static func around<Value: Sendable>(
        _ work: () async -> Value,
        end: @escaping @Sendable () async -> Void
    ) async -> Value {
        state.withLock { $0.end = end }
        let value = await work()
        let isOurs = state.withLock { state in
            defer { state.isEnding = true }
            return state.end.take() != nil
        }
        // What was interrupted may come to its end as well, and must not end the program before it is in order.
        if !isOurs { await unsafe withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in } }
        await end()
        return value
    }

    /// How many seconds the end may take after a signal: more than anything needs that a command does there.
    private static let endLimit: UInt32 = 30

    private static func interrupt(by number: Int32) {
        // Whatever hangs, a signal ends the program.
        if number != SIGALRM { alarm(endLimit) }
        let (end, mustExit, code) = state.withLock { state in
            let mustExit = state.isInterrupted || (state.end == nil && !state.isEnding)
            state.isTermination = !state.isInterrupted && number == SIGTERM
            state.isInterrupted = true
            return (state.end.take(), mustExit, state.isTermination ? state.termination : .interrupted)
        }
        if mustExit { exit(code.rawValue) }
        guard let end else { return }
        Task {
            await end()
            exit(code.rawValue)
        }
    }
}
