#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#elseif canImport(Darwin)
    internal import Darwin
#endif

/// A block of memory that is not zero-filled, or nil where the system has none.
///
/// `UnsafeMutableRawPointer.allocate` traps instead, and a peer's picture must not be able to cause that.
@unsafe func allocateMemory(byteCount: Int, alignment: Int) -> UnsafeMutableRawPointer? {
    var memory: UnsafeMutableRawPointer?
    guard unsafe posix_memalign(&memory, alignment, byteCount) == 0 else { return nil }
    return unsafe memory
}

/// Gives back a block of `allocateMemory`.
@unsafe func freeMemory(_ memory: UnsafeMutableRawPointer) {
    unsafe free(memory)
}

/// A mutual exclusion lock.
///
/// It is a pthread mutex and not `Synchronization.Mutex` because the thread sanitizer does not see the latter's futex
/// calls and reports races where there are none.
///
/// Sendable: the mutex is made for use from several threads, and nothing else is stored.
@safe final class Lock: @unchecked Sendable {
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>

    init() {
        unsafe mutex = .allocate(capacity: 1)
        unsafe mutex.initialize(to: pthread_mutex_t())
        unsafe pthread_mutex_init(mutex, nil)
    }

    deinit {
        unsafe pthread_mutex_destroy(mutex)
        unsafe mutex.deallocate()
    }

    /// Runs the body alone.
    func withLock<Result>(_ body: () -> Result) -> Result {
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        return body()
    }
}

/// Whether two runs of bytes are the same.
@unsafe func equalBytes(_ first: UnsafePointer<UInt8>, _ second: UnsafePointer<UInt8>, count: Int) -> Bool {
    unsafe memcmp(first, second, count) == 0
}

/// Ten times the decimal logarithm.
func decibels(_ ratio: Double) -> Double {
    10 * log10(ratio)
}
