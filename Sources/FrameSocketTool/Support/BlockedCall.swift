import Dispatch
import FrameSocket
import Locking

/// System calls that last for as long as another program likes: writing to a pipe whose reader does not read, opening a
/// named pipe that nobody reads.
///
/// While a command runs, such a call may wait: that is back pressure. When the command is about to end, it gives up a
/// call that has made no progress for a second. A reader that reads, however slowly, still gets whole frames, unless the
/// command has no time for that.
enum BlockedCall {
    private struct Call {
        let thread: pthread_t
        let descriptor: Int32?
        let beganAt: UInt64
    }

    private struct State {
        var calls: [UInt64: Call] = [:]
        var lastCall: UInt64 = 0
        var isHurrying = false
        /// Whether nobody is waited for any longer, whether reading or not.
        var isOver = false
        /// The descriptors whose readers do not read.
        var givenUp: Set<Int32> = []
    }

    private static let state = Locked(State())

    /// How long a call may last when the command is about to end, in nanoseconds.
    private static let patience = TimeLimit.of(.seconds(1)).nanoseconds

    /// Makes a call, and again if a signal has interrupted it.
    ///
    /// - Parameters:
    ///   - descriptor: What is written to; nil if nothing is open yet.
    ///   - call: The call, which returns a negative number and sets `errno` if it fails.
    /// - Returns: Its result; -1 with `ECANCELED` if it was given up.
    static func perform<Result: SignedInteger>(on descriptor: Int32?, _ call: () -> Result) -> Result {
        var interruption = sigset_t()
        unsafe sigemptyset(&interruption)
        unsafe sigaddset(&interruption, SIGUSR1)
        let beganAt = MonotonicClock.now()
        // The library's threads block every signal.
        unsafe pthread_sigmask(SIG_UNBLOCK, &interruption, nil)
        while true {
            let id = state.withLock { state -> UInt64? in
                if let descriptor, state.givenUp.contains(descriptor) { return nil }
                state.lastCall += 1
                state.calls[state.lastCall] = Call(thread: pthread_self(), descriptor: descriptor, beganAt: beganAt)
                return state.lastCall
            }
            guard let id else {
                errno = ECANCELED
                return -1
            }
            let result = call()
            let error = errno
            let isGivenUp = state.withLock { state in
                state.calls[id] = nil
                guard result < 0, error == EINTR, state.isHurrying, MonotonicClock.now() - beganAt >= patience else {
                    return false
                }
                if let descriptor { state.givenUp.insert(descriptor) }
                return true
            }
            errno = isGivenUp ? ECANCELED : error
            if result >= 0 || isGivenUp || error != EINTR { return result }
        }
    }

    /// Gives up calls that make no progress from now on, because the command is about to end.
    static func hurry() {
        let isFirst = state.withLock { state in
            defer { state.isHurrying = true }
            return !state.isHurrying
        }
        guard isFirst else { return }
        // A signal ends a call of its thread. The default action would end the process, and a handler that restarts calls
        // would not help.
        var action = sigaction()
        #if canImport(Darwin)
            unsafe action.__sigaction_u.__sa_handler = { _ in }
        #elseif canImport(Musl)
            unsafe action.__sa_handler.sa_handler = { _ in }
        #else
            unsafe action.__sigaction_handler.sa_handler = { _ in }
        #endif
        unsafe sigaction(SIGUSR1, &action, nil)
        interrupt()
    }

    /// Gives up calls even if they make progress, because there is no time left; messages for people still go out.
    static func giveUp() {
        state.withLock { $0.isOver = true }
        hurry()
    }

    /// Interrupts calls that last too long, again and again: a signal that comes just before a call is lost.
    private static func interrupt() {
        let now = MonotonicClock.now()
        state.withLock { state in
            for call in state.calls.values where now >= call.beganAt + patience {
                // A part of what it writes may have been accepted: the rest is not written.
                if state.isOver, let descriptor = call.descriptor, descriptor != STDERR_FILENO {
                    state.givenUp.insert(descriptor)
                }
                pthread_kill(call.thread, SIGUSR1)
            }
        }
        DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(100)) { interrupt() }
    }
}
