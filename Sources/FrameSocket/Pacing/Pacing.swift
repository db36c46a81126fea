/// Which of the frames that are offered are sent.
///
/// The last frame of a burst is never lost: one that is passed over is sent when its time comes, unless a newer one has
/// been offered by then.
///
///     .everyFrame
///     .every(3)
///     .framesPerSecond(15).skippingUnchanged()
///     .adaptive(still: 15, motion: 30)
public struct Pacing: Sendable, Hashable {
    /// How often a frame is sent.
    public enum Rate: Sendable, Hashable {
        /// Every frame.
        case everyFrame
        /// The first frame and every `n`-th after it; below 2 that is every frame.
        ///
        /// If the source falls silent, its last frame is sent after `n` intervals of the source, and a tenth of a second
        /// at least.
        case every(_ n: Int)
        /// So many frames a second of presentation time, on average, and never in bursts.
        ///
        /// The frame nearest to its due time is taken. A rate that is not above 0 is no limit.
        case framesPerSecond(Double)
        /// Frames that differ from the one sent before at the rate `motion`, others at the rate `still`.
        case adaptive(still: Double, motion: Double)
    }

    /// How often a frame is sent.
    public var rate: Rate

    /// Whether a frame that equals the one sent before is left out.
    ///
    /// Comparing costs one pass over the bytes of the frames that are due, on the thread that offers them; see
    /// ``ChangeDetector``.
    public var skipsUnchanged: Bool

    /// After how long an unchanged frame is sent nevertheless; nil for never.
    ///
    /// It tells a receiver that the sender lives, and repairs what a receiver missed. If the source offers nothing, its
    /// latest frame is sent again, but no more often than the rate allows, nor than ten times a second.
    public var keepAlive: Duration?

    /// A pacing with the given rate that sends unchanged frames too, unless told otherwise.
    public init(_ rate: Rate, skipsUnchanged: Bool = false, keepAlive: Duration? = .seconds(1)) {
        self.rate = rate
        self.skipsUnchanged = skipsUnchanged
        self.keepAlive = keepAlive
    }

    /// Every frame.
    public static let everyFrame = Pacing(.everyFrame)

    /// The first frame and every `n`-th after it; Jitsi sends every third.
    public static func every(_ n: Int) -> Pacing { Pacing(.every(n)) }

    /// So many frames a second of presentation time.
    public static func framesPerSecond(_ rate: Double) -> Pacing { Pacing(.framesPerSecond(rate)) }

    /// Frames at one rate while nothing changes, and at another while something does.
    ///
    /// The defaults are those of NetEase.
    public static func adaptive(still: Double = 15, motion: Double = 30) -> Pacing {
        Pacing(.adaptive(still: still, motion: motion))
    }

    /// The same, without frames that equal the one sent before.
    ///
    /// - Parameter keepAlive: After how long an unchanged frame is sent nevertheless; nil for never.
    /// - Returns: A pacing at the same rate.
    public func skippingUnchanged(keepAlive: Duration? = .seconds(1)) -> Pacing {
        Pacing(rate, skipsUnchanged: true, keepAlive: keepAlive)
    }

    /// Whether it matters if a frame differs from the one sent before.
    public var comparesPictures: Bool {
        if case .adaptive = rate { true } else { skipsUnchanged }
    }
}
