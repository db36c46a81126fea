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
/// Each frame takes a dozen locks on its way, so that what is generic here is compiled where it is used, and the state lies where
/// the lock alone sees to it that one at a time has it, and the runtime does not check that again.
///
/// - Note: `@unchecked Sendable` holds because `state` is only reached in `withLock`.
@safe package final class Locked<State: ~Copyable>: @unchecked Sendable {
    @usableFromInline package let state: UnsafeMutablePointer<State>
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>

    package init(_ state: consuming State) {
        unsafe self.state = .allocate(capacity: 1)
        unsafe self.state.initialize(to: state)
        unsafe mutex = .allocate(capacity: 1)
        unsafe pthread_mutex_init(mutex, nil)
    }

    deinit {
        unsafe pthread_mutex_destroy(mutex)
        unsafe mutex.deallocate()
        unsafe state.deinitialize(count: 1)
        unsafe state.deallocate()
    }

    /// Runs `body` with the state to itself.
    ///
    /// `body` must not take the same lock again.
    @inlinable package func withLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout State) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        lock()
        defer { unlock() }
        return try unsafe body(&state.pointee)
    }

    @usableFromInline package func lock() {
        unsafe pthread_mutex_lock(mutex)
    }

    @usableFromInline package func unlock() {
        unsafe pthread_mutex_unlock(mutex)
    }
}
