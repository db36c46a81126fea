#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#elseif canImport(Darwin)
    internal import Darwin
#endif

#if !canImport(Darwin)
    internal import Synchronization
#endif

/// A value that can be accessed only while holding its lock.
///
/// Each frame takes 44 locks on its way from one program to another. Generic code is therefore inlinable and specialized
/// at its point of use; it is public because the compiler (Swift 6.3) does that only for code which is.
/// The state is in memory where the lock alone enforces exclusive access, and the runtime does not check it again.
///
/// - Note: `@unchecked Sendable` holds because `state` is only accessed in `withLock`.
@safe public final class Locked<State: ~Copyable>: @unchecked Sendable {
    @usableFromInline internal let state: UnsafeMutablePointer<State>
    @usableFromInline internal let mutex = SystemMutex()

    package init(_ state: consuming State) {
        unsafe self.state = .allocate(capacity: 1)
        unsafe self.state.initialize(to: state)
    }

    deinit {
        unsafe state.deinitialize(count: 1)
        unsafe state.deallocate()
    }

    /// Calls a closure with exclusive access to the state.
    ///
    /// `body` must not take the same lock again.
    @inlinable public func withLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout State) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        mutex.lock()
        defer { mutex.unlock() }
        return try unsafe body(&state.pointee)
    }
}

#if canImport(Darwin) || PTHREAD_LOCKS
    /// A pthread mutex.
    ///
    /// Apple's systems have `Synchronization.Mutex` from macOS 15 and iOS 18 on only. On Linux, the thread sanitizer does not
    /// understand it, reports races that do not exist and hides those that do: `scripts/check-sanitizers` defines
    /// `PTHREAD_LOCKS`.
    @safe @usableFromInline struct SystemMutex: ~Copyable {
        private let mutex: UnsafeMutablePointer<pthread_mutex_t>

        init() {
            unsafe mutex = .allocate(capacity: 1)
            unsafe pthread_mutex_init(mutex, nil)
        }

        deinit {
            unsafe pthread_mutex_destroy(mutex)
            unsafe mutex.deallocate()
        }

        @usableFromInline func lock() { unsafe pthread_mutex_lock(mutex) }

        @usableFromInline func unlock() { unsafe pthread_mutex_unlock(mutex) }
    }
#else
    /// A mutex that is locked and unlocked without a call, as long as no other thread wants it.
    @usableFromInline struct SystemMutex: ~Copyable {
        let mutex = Mutex<Void>(())

        init() {}

        @usableFromInline func lock() { mutex._unsafeLock() }

        @usableFromInline func unlock() { mutex._unsafeUnlock() }
    }
#endif

/// A lock that the thread that holds it can take again.
///
/// - Note: `@unchecked Sendable` holds because the mutex may be used from any thread.
@safe package final class RecursiveLock: @unchecked Sendable {
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>

    package init() {
        unsafe mutex = .allocate(capacity: 1)
        var attributes = pthread_mutexattr_t()
        unsafe pthread_mutexattr_init(&attributes)
        unsafe pthread_mutexattr_settype(&attributes, Int32(PTHREAD_MUTEX_RECURSIVE))
        unsafe pthread_mutex_init(mutex, &attributes)
        unsafe pthread_mutexattr_destroy(&attributes)
    }

    deinit {
        unsafe pthread_mutex_destroy(mutex)
        unsafe mutex.deallocate()
    }

    /// Calls a closure while no other thread is in one.
    package func withLock(_ body: () -> Void) {
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        body()
    }
}
