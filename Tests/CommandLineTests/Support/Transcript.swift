import Foundation
import TestSupport

/// What a process prints, read by a thread of its own until both streams have ended; then the thread waits for the process.
///
/// A process from which something is expected in vain is killed when patience is over, so that a failing test ends.
final class Transcript: @unchecked Sendable {
    /// What is known of the process.
    struct State: Sendable {
        var output: [UInt8] = []
        var errors: [UInt8] = []
        /// The exit code, or the negative number of the signal that ended it; nil while it runs.
        var status: Int32?
    }

    private struct Waiter {
        let isEnough: @Sendable (State) -> Bool
        let continuation: CheckedContinuation<State, Never>
    }

    private let process: pid_t
    private let lock = NSLock()
    // Under the lock:
    private var state = State()
    private var waiters: [Waiter] = []
    /// When the last thing was asked of the process.
    private var lastQuestion = ContinuousClock.now

    init(_ process: pid_t, output: Int32, errors: Int32) {
        self.process = process
        Thread.detachNewThread { [self] in follow(output, errors) }
    }

    /// What is known by now.
    var now: State { lock.withLock { state } }

    /// Waits until enough is known, or the process has ended.
    func state(_ isEnough: @escaping @Sendable (State) -> Bool) async -> State {
        await withCheckedContinuation { continuation in
            lock.withLock {
                waiters.append(Waiter(isEnough: isEnough, continuation: continuation))
                lastQuestion = .now
            }
            serve()
        }
    }

    /// Sends a signal to the process, unless it has ended.
    func send(_ signal: Int32) {
        lock.withLock { if state.status == nil { _ = kill(process, signal) } }
    }

    /// Ends the process and all that it has started.
    func killGroup() {
        lock.withLock { if state.status == nil { _ = kill(-process, SIGKILL) } }
    }

    /// Resumes those who know enough now.
    private func serve() {
        lock.lock()
        let state = state
        let served = waiters.filter { state.status != nil || $0.isEnough(state) }
        waiters.removeAll { state.status != nil || $0.isEnough(state) }
        lock.unlock()
        for waiter in served { waiter.continuation.resume(returning: state) }
    }

    // MARK: The thread

    /// What the errors of a process end with that was killed because somebody had waited for too long.
    static let killed = "\n(killed after \(Patience.length))"

    private func follow(_ output: Int32, _ errors: Int32) {
        var watched = [output, errors].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
        var isKilled = false
        while watched.contains(where: { $0.fd >= 0 }) {
            _ = unsafe poll(&watched, nfds_t(watched.count), 1000)
            if !isKilled, isOverdue {
                killGroup()
                isKilled = true
            }
            for index in watched.indices where watched[index].revents != 0 {
                if !take(from: watched[index].fd, isOutput: index == 0) { watched[index].fd = -1 }
            }
        }
        close(output)
        close(errors)
        wait(isKilled: isKilled)
        serve()
    }

    /// Whether somebody has waited for the process for too long.
    private var isOverdue: Bool {
        lock.withLock { !waiters.isEmpty && ContinuousClock.now - lastQuestion > Patience.length }
    }

    /// Reads once; false at the end.
    private func take(from descriptor: Int32, isOutput: Bool) -> Bool {
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: 1 << 16) { buffer, count in
            var result = 0
            repeat {
                result = unsafe read(descriptor, buffer.baseAddress, buffer.count)
            } while result < 0 && errno == EINTR
            count = max(0, result)
        }
        lock.withLock { if isOutput { state.output += bytes } else { state.errors += bytes } }
        serve()
        return !bytes.isEmpty
    }

    private func wait(isKilled: Bool) {
        var information = unsafe siginfo_t()
        // Without reaping: until the status says that it is gone, the number must stay the process's own.
        while unsafe waitid(P_PID, id_t(process), &information, WEXITED | WNOWAIT) < 0, errno == EINTR {}
        lock.withLock {
            var status: Int32 = 0
            while unsafe waitpid(process, &status, 0) < 0, errno == EINTR {}
            state.status = status & 0x7F == 0 ? (status >> 8) & 0xFF : -(status & 0x7F)
            if isKilled { state.errors += Array(Self.killed.utf8) }
        }
    }
}
