internal import CFrameTransport

/// The clock for deadlines and timestamps: it never jumps and is the same in every process of a machine.
///
/// It is the system's `CLOCK_MONOTONIC`, which advances while the machine is suspended on Apple systems, and does not on
/// Linux. The timestamps of frames are its nanoseconds, ``now()``.
public enum MonotonicClock {
    /// Returns the nanoseconds since an arbitrary start (`CLOCK_MONOTONIC`).
    public static func now() -> UInt64 { frame_monotonic_time() }
}
