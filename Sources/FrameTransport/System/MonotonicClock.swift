#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#elseif canImport(Darwin)
    internal import Darwin
#endif

/// The clock that deadlines and timestamps are read from: it never jumps and is the same in every process.
public enum MonotonicClock {
    /// Nanoseconds since an arbitrary start (`CLOCK_MONOTONIC`).
    public static func now() -> UInt64 {
        #if canImport(Darwin)
            return clock_gettime_nsec_np(CLOCK_MONOTONIC)
        #else
            var time = timespec()
            _ = unsafe clock_gettime(CLOCK_MONOTONIC, &time)
            return UInt64(time.tv_sec) &* 1_000_000_000 &+ UInt64(time.tv_nsec)
        #endif
    }
}
