internal import CFrameTransport

/// The clock for deadlines and timestamps: it never jumps and is the same in every process.
public enum MonotonicClock {
    /// Returns the nanoseconds since an arbitrary start (`CLOCK_MONOTONIC`).
    public static func now() -> UInt64 { frame_monotonic_time() }
}
