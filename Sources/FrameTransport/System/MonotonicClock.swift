internal import CFrameTransport

/// The clock for deadlines and timestamps: it never jumps and is the same in every process of a machine.
///
/// It is the system's `CLOCK_MONOTONIC`, which advances while the machine is suspended on Apple systems, and does not on
/// Linux. The timestamps of frames are its nanoseconds, ``now()``.
public struct MonotonicClock: Clock {
    /// A time of the clock.
    public struct Instant: InstantProtocol {
        /// The nanoseconds since an arbitrary start, as in the timestamps of frames.
        public let nanoseconds: UInt64

        /// Creates the time of a timestamp.
        public init(nanoseconds: UInt64) {
            self.nanoseconds = nanoseconds
        }

        /// Returns the time that is later by `duration`; one that no number of nanoseconds expresses is the nearest one
        /// that is.
        public func advanced(by duration: Duration) -> Instant {
            guard duration < .zero else { return Instant(nanoseconds: nanoseconds.addingClamping(duration)) }
            // The most negative duration has no opposite.
            let back = UInt64(0).addingClamping(.zero - max(duration, .seconds(-1 << 40)))
            return Instant(nanoseconds: nanoseconds - min(nanoseconds, back))
        }

        /// Returns the time from this instant to another.
        public func duration(to other: Instant) -> Duration {
            other >= self
                ? Duration(nanoseconds: other.nanoseconds - nanoseconds)
                : .zero - Duration(nanoseconds: nanoseconds - other.nanoseconds)
        }

        /// Whether a time is earlier than another.
        public static func < (left: Instant, right: Instant) -> Bool { left.nanoseconds < right.nanoseconds }
    }

    /// Creates the clock.
    public init() {}

    /// The present time.
    public var now: Instant { Instant(nanoseconds: Self.now()) }

    /// The smallest difference between two times: one nanosecond.
    public var minimumResolution: Duration { .nanoseconds(1) }

    /// Waits until a time has come.
    ///
    /// - Throws: `CancellationError` if the task is cancelled first.
    public func sleep(until deadline: Instant, tolerance: Duration? = nil) async throws {
        while now < deadline {
            try await Task.sleep(for: now.duration(to: deadline), tolerance: tolerance, clock: .suspending)
        }
        try Task.checkCancellation()
    }

    /// Returns the nanoseconds since an arbitrary start (`CLOCK_MONOTONIC`).
    public static func now() -> UInt64 { frame_monotonic_time() }
}

extension UInt64 {
    /// Returns the nanoseconds after a positive duration, at most the largest number.
    fileprivate func addingClamping(_ duration: Duration) -> UInt64 {
        // Compared first: the seconds of a longer duration need not fit into the number that they are returned in.
        guard duration < Duration(nanoseconds: .max - self) else { return .max }
        let (seconds, attoseconds) = duration.components
        return self + UInt64(seconds) * 1_000_000_000 + UInt64(attoseconds / 1_000_000_000)
    }
}
