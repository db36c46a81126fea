import FrameSocket
import Locking

/// Ctrl-C and SIGTERM.
///
/// They are blocked in every thread, and the main thread waits for them, so that none is lost however early it arrives.
enum Signals {
    enum Signal {
        case interrupt
        case terminate
    }

    private struct State {
        var handler: (@Sendable (Signal) -> Void)?
        var count = 0
    }

    private static let state = Locked(State())

    /// Calls a closure with every signal from now on; until then, the first one ends the program.
    static func handle(_ handler: @escaping @Sendable (Signal) -> Void) {
        state.withLock { $0.handler = handler }
    }

    /// Runs work, which may block, on a thread of its own.
    ///
    /// - Returns: Its result; nil if a signal comes first. The thread is then left where it is.
    static func interrupting(
        _ work: @escaping @Sendable () async throws(CommandFailure) -> Void
    ) async -> Result<Void, CommandFailure>? {
        let end = Latch<Result<Void, CommandFailure>?>()
        handle { _ in end.set(nil) }
        Task(preferring: IOThread()) {
            do throws(CommandFailure) {
                try await work()
                end.set(.some(.success(())))
            } catch {
                end.set(.some(.failure(error)))
            }
        }
        return await end.wait()
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
            if unsafe sigwait(&signals, &number) == 0 { handle(number) }
        }
    }

    /// How long the end may take after a signal: more than any command needs.
    private static let endLimit = max(.seconds(30), TimeLimit.of(.seconds(30)))

    /// How many signals are taken for one: timeout(1) sends its own twice, to the process and to its group, and a terminal
    /// adds another.
    private static let repetitionLimit = 3

    private static func handle(_ number: Int32) {
        let (handler, count) = state.withLock { state in
            state.count += 1
            return (state.handler, state.count)
        }
        // The alarm ends what an earlier signal began.
        guard let handler, count <= repetitionLimit, number != SIGALRM || count == 1 else {
            exit(ExitCode.interrupted.rawValue)
        }
        // Whatever hangs, a signal ends the program.
        if count == 1 { alarm(UInt32(clamping: endLimit.components.seconds)) }
        handler(number == SIGTERM ? .terminate : .interrupt)
    }
}
