internal import FrameWire

extension SampleUploader {
    /// Which of the submitted frames are sent.
    ///
    /// The last frame of a burst is never lost: a frame that is not sent at once is deferred, and sent when its time comes,
    /// unless a newer one has been submitted by then.
    ///
    /// ```swift
    /// uploader.update { $0.pacing = .everyFrame }
    /// uploader.update { $0.pacing = .every(3) }
    /// uploader.update { $0.pacing = .framesPerSecond(15).skippingUnchanged() }
    /// uploader.update { $0.pacing = .adaptive(still: 15, motion: 30) }
    /// ```
    public struct Pacing: Sendable, Hashable {
        package enum Rate: Sendable, Hashable {
            case everyFrame
            case every(_ n: Int)
            case framesPerSecond(Double)
            case adaptive(still: Double, motion: Double)
        }

        /// How often a frame is sent.
        package var rate: Rate

        /// Whether frames that equal the one sent before are skipped.
        ///
        /// Comparing costs one pass over the bytes of frames that are due, on the uploader's queue: about a twentieth of
        /// the time needed to encode them.
        public var skipsUnchanged: Bool

        /// The time after which an unchanged frame is sent nevertheless, if ``skipsUnchanged`` is set; nil for never.
        ///
        /// It tells a receiver that the sender is alive, and resends what a receiver missed: the latest frame is sent again,
        /// but no more often than the rate allows, and at most ten times a second. A time below zero counts as zero.
        public var keepAlive: Duration?

        package init(_ rate: Rate, skipsUnchanged: Bool = false, keepAlive: Duration? = .seconds(1)) {
            self.rate = rate
            self.skipsUnchanged = skipsUnchanged
            self.keepAlive = keepAlive
        }

        /// Every frame.
        public static let everyFrame = Pacing(.everyFrame)

        /// Returns a pacing that sends the first frame and every `n`-th after it, or every frame if `n` is less than 2; Jitsi
        /// sends every third.
        ///
        /// If the source falls silent, its last frame is sent after `n` intervals of the source, but no sooner than after a
        /// tenth of a second.
        public static func every(_ n: Int) -> Pacing { Pacing(.every(n)) }

        /// Returns a pacing with an average number of frames per second of presentation time, never in bursts.
        ///
        /// The frame nearest to its due time is sent. A rate that is not greater than 0, or not finite, sets no limit.
        public static func framesPerSecond(_ rate: Double) -> Pacing { Pacing(.framesPerSecond(rate)) }

        /// Returns a pacing that sends frames which differ from the one sent before at the rate `motion`, and others at the
        /// rate `still`.
        ///
        /// A rate that is not greater than 0, or not finite, sets no limit. The defaults are those of NetEase.
        public static func adaptive(still: Double = 15, motion: Double = 30) -> Pacing {
            Pacing(.adaptive(still: still, motion: motion))
        }

        /// Returns this pacing, skipping frames that equal the one sent before.
        ///
        /// - Parameter keepAlive: The time after which an unchanged frame is sent nevertheless; nil for never.
        /// - Returns: The pacing, at the same rate.
        public func skippingUnchanged(keepAlive: Duration? = .seconds(1)) -> Pacing {
            Pacing(rate, skipsUnchanged: true, keepAlive: keepAlive)
        }

        /// The most frames per 1,000 seconds; nil if the source determines it.
        public var rateInMillihertz: Int? {
            let rate: Double
            switch self.rate {
            case .everyFrame, .every: return nil
            case .framesPerSecond(let limit), .adaptive(_, let limit): rate = limit
            }
            guard rate > 0, rate.isFinite else { return nil }
            var info = ControlRequest.SessionInfo()
            info.frameRate = rate
            return info.frameRateInMillihertz
        }

        /// Whether frames are compared with the one sent before.
        package var comparesImages: Bool {
            if case .adaptive = rate { true } else { skipsUnchanged }
        }
    }
}
