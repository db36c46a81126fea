public import FrameWire

/// What one end allows the other: sizes, counts and times.
///
/// Times are absolute, on a clock that never jumps.
public struct TransportLimits: Sendable, Hashable {
    /// What a message may look like.
    public var wire = WireLimits()

    /// How long the other side may take to show its token, if tokens are used.
    ///
    /// Default: 5 s.
    public var handshake: Duration = .seconds(5)

    /// How long after a connection opens its first message must begin.
    ///
    /// Default: 10 s; nil forever.
    public var firstFrame: Duration? = .seconds(10)

    /// How long a header may take from its first byte.
    ///
    /// Default: 5 s.
    public var head: Duration = .seconds(5)

    /// How long a body may take, beside what ``bodyBytesPerSecond`` grants it.
    ///
    /// Default: 10 s.
    public var body: Duration = .seconds(10)

    /// The rate at which a body must arrive on average, once ``body`` is used up.
    ///
    /// Default: 1 MiB/s.
    public var bodyBytesPerSecond = 1 << 20

    /// How long a sender may be silent between two messages, unless this receiver has asked for a pause or wants nothing.
    ///
    /// Default: nil, forever: a screen may stand still.
    public var idle: Duration?

    /// How many senders may be connected at once; one more is closed at once.
    ///
    /// Default: 64.
    public var connections = 64

    /// How many connections may be open at once whose senders have yet to show their token, if tokens are used; for one
    /// more, and for one that finds no place, the oldest of them is closed.
    ///
    /// Default: 16; at least 1, and no more than ``connections``.
    public var handshakes = 16

    /// How many frames in a row may be undecodable; the connection that has sent so many is closed.
    ///
    /// Default: 8. See ``Frame/reportUndecodable()``.
    public var undecodableFrames = 8

    /// How many connections the system may hold that have not been accepted yet.
    ///
    /// Default: 128.
    public var backlog = 128

    /// How long accepting pauses if the system is short of descriptors or memory.
    ///
    /// Default: 100 ms. It doubles with each attempt that fails, up to ``longestAcceptPause``.
    public var firstAcceptPause: Duration = .milliseconds(100)

    /// The longest that ``firstAcceptPause`` grows to.
    ///
    /// Default: 1 s.
    public var longestAcceptPause: Duration = .seconds(1)

    /// How long an orderly close waits for the other side to close too.
    ///
    /// Default: 1 s.
    public var linger: Duration = .seconds(1)

    /// The defaults.
    public init() {}

    /// How long a body of `length` bytes may take.
    func bodyDuration(length: Int) -> Duration {
        body + .seconds(Double(length) / Double(max(1, bodyBytesPerSecond)))
    }
}

extension Duration {
    /// Whole nanoseconds, within what a deadline can hold; 0 for a negative duration.
    package var nanoseconds: UInt64 {
        let (seconds, attoseconds) = components
        guard seconds >= 0, attoseconds >= 0 else { return 0 }
        guard seconds < 1 << 32 else { return 1 << 62 }
        return UInt64(seconds) * 1_000_000_000 + UInt64(attoseconds / 1_000_000_000)
    }
}

extension Duration {
    /// The time that is this long after `now`, in nanoseconds of the same clock.
    package func after(_ now: UInt64) -> UInt64 { now &+ nanoseconds }
}

extension MonotonicClock {
    /// The time that is `duration` from now.
    static func deadline(in duration: Duration) -> UInt64 {
        duration.after(now())
    }
}
