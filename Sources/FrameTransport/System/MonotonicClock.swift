internal import CFrameTransport

/// The clock for deadlines and timestamps: it never jumps and is the same in every process of a machine.
///
/// It is the system's `CLOCK_MONOTONIC`, which advances while the machine is suspended on Apple systems, and does not on
/// Linux. The timestamps of frames are its nanoseconds, ``now()``.
public enum MonotonicClock {
    /// Returns the nanoseconds since an arbitrary start (`CLOCK_MONOTONIC`).
    public static func now() -> UInt64 { frame_monotonic_time() }
}

// Durations and the times of the monotonic clock, which are nanoseconds.

extension Duration {
    /// Creates a duration from nanoseconds, which may exceed what `Duration.nanoseconds(_:)` takes.
    package init(nanoseconds: UInt64) {
        let (seconds, rest) = nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
        self.init(secondsComponent: Int64(seconds), attosecondsComponent: Int64(rest) * 1_000_000_000)
    }

    /// 2^32 seconds: a deadline as far away as this counts as none.
    static let longestDeadline = Duration.seconds(1 << 32)

    /// The duration in nanoseconds, clamped to what a deadline can hold; 0 if negative.
    package var nanoseconds: UInt64 {
        guard self > .zero else { return 0 }
        // Compared first: the seconds of a longer duration need not fit into the number that they are returned in.
        guard self < Self.longestDeadline else { return 1 << 62 }
        let (seconds, attoseconds) = components
        return UInt64(seconds) * 1_000_000_000 + UInt64(attoseconds / 1_000_000_000)
    }

    /// Returns the time this long after `now`, in nanoseconds of the same clock.
    package func after(_ now: UInt64) -> UInt64 { now &+ nanoseconds }
}

extension MonotonicClock {
    /// Returns the time `duration` from now.
    static func deadline(in duration: Duration) -> UInt64 {
        duration.after(now())
    }
}
