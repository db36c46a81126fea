/// Which of the pictures that are handed in are sent.
///
///     .everyFrame
///     .every(3)
///     .framesPerSecond(15).skippingUnchanged()
///     .adaptive(still: 15, motion: 30)
public struct Pacing: Sendable, Hashable {
    /// How often a picture is sent.
    public enum Rate: Sendable, Hashable {
        /// Every picture.
        case everyFrame
        /// The first picture and every `n`-th after it; below 2 that is every picture.
        case every(_ n: Int)
        /// So many pictures a second of presentation time, on average, and never in bursts.
        ///
        /// The picture nearest to its due time is taken. A rate that is not above 0 is no limit.
        case framesPerSecond(Double)
        /// Pictures that differ from the one sent before at the rate `motion`, others at the rate `still`.
        case adaptive(still: Double, motion: Double)
    }

    /// How often a picture is sent.
    public var rate: Rate

    /// Whether a picture that equals the one sent before is left out.
    ///
    /// Comparing costs one pass over the bytes of the pictures that are due, on the thread that hands them in; see
    /// ``ChangeDetector``.
    public var skipsUnchanged: Bool

    /// After how long an unchanged picture is sent nevertheless; nil for never.
    ///
    /// It tells a receiver that the sender lives, and repairs what a receiver missed.
    public var keepAlive: Duration?

    /// A pacing with the given rate that sends unchanged pictures too, unless told otherwise.
    public init(_ rate: Rate, skipsUnchanged: Bool = false, keepAlive: Duration? = .seconds(1)) {
        self.rate = rate
        self.skipsUnchanged = skipsUnchanged
        self.keepAlive = keepAlive
    }

    /// Every picture.
    public static let everyFrame = Pacing(.everyFrame)

    /// The first picture and every `n`-th after it; Jitsi sends every third.
    public static func every(_ n: Int) -> Pacing { Pacing(.every(n)) }

    /// So many pictures a second of presentation time.
    public static func framesPerSecond(_ rate: Double) -> Pacing { Pacing(.framesPerSecond(rate)) }

    /// Pictures at one rate while nothing changes, and at another while something does.
    ///
    /// The defaults are those of NetEase.
    public static func adaptive(still: Double = 15, motion: Double = 30) -> Pacing {
        Pacing(.adaptive(still: still, motion: motion))
    }

    /// The same, without pictures that equal the one sent before.
    ///
    /// - Parameter keepAlive: after how long an unchanged picture is sent nevertheless; nil for never.
    /// - Returns: a pacing at the same rate.
    public func skippingUnchanged(keepAlive: Duration? = .seconds(1)) -> Pacing {
        Pacing(rate, skipsUnchanged: true, keepAlive: keepAlive)
    }

    /// Whether it matters if a picture differs from the one sent before.
    public var comparesPictures: Bool {
        if case .adaptive = rate { true } else { skipsUnchanged }
    }
}
