#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#elseif canImport(Darwin)
    internal import Darwin
#endif

/// A value that is only reached while holding its lock.
///
/// A pthread mutex in place of `Synchronization.Mutex`, which the thread sanitizer does not see
/// through on Linux: it reports races where there are none, and hides those that are there.
///
/// - Note: `@unchecked Sendable` holds because `state` is private and every access is in `withLock`.
@safe package final class Locked<State: ~Copyable>: @unchecked Sendable {
    private var state: State
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>

    package init(_ state: consuming State) {
        self.state = state
        unsafe mutex = .allocate(capacity: 1)
        unsafe pthread_mutex_init(mutex, nil)
    }

    deinit {
        unsafe pthread_mutex_destroy(mutex)
        unsafe mutex.deallocate()
    }

    /// Runs `body` with the state to itself.
    ///
    /// `body` must not take the same lock again.
    package func withLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout State) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        return try body(&state)
    }
}
