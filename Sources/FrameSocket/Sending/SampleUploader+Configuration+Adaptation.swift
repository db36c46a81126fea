extension SampleUploader.Configuration {
    /// How the quality of JPEGs follows what is possible.
    ///
    /// ``SampleUploader/Configuration/quality`` is then the highest quality. While images change, each is encoded at a
    /// quality that is possible, and no more of them are sent than that. Once nothing has changed for 0.2 seconds, the latest
    /// image is sent again at the highest quality, with the same timestamp and number, as soon as there is room for it; it
    /// is not sent again if its pixels are no longer kept (``SampleUploader``). Images that equal the one sent before are
    /// not sent, whatever the pacing says about them.
    ///
    /// The quality rises one second after there is room for a higher one, and falls at once: each change makes all strips of
    /// an image be encoded again.
    ///
    /// JPEGs that are sent unchanged count, and keep their quality. Images in shared memory do not count.
    public struct Adaptation: Sendable, Hashable {
        /// What is kept while it is possible.
        public enum Preference: Sendable, Hashable {
            /// Detail: frames are left out, down to this number a second, before the quality falls. A rate under 1, or
            /// NaN, counts as 1.
            ///
            /// While no more than a quarter of each image differs from the one before, such as a spinner beside text, down to a
            /// fifth of that number, and no less than one: JPEGs have one quality for all of an image.
            /// ``SampleUploader/Configuration/usesStrips`` tells what differs.
            case detail(minimumFrameRate: Double = 5)
            /// Motion: the quality falls before frames are left out.
            case motion
        }

        /// The maximum number of bytes of JPEG in a second; nil for what the receiver takes without lag.
        ///
        /// In any two seconds, at most 5 % more are sent.
        ///
        /// Default: nil, and so is any number that is not positive. A single JPEG may be larger: it is then the only one in two
        /// seconds. If the receiver takes less than this, that much is sent. Audio is not limited.
        public var maximumByteRate: Int? {
            didSet { maximumByteRate = Self.checked(maximumByteRate) }
        }

        /// The lowest quality, from 1 to 100; a number outside this range becomes the nearest one inside it, and one above
        /// ``SampleUploader/Configuration/quality`` counts as that.
        ///
        /// Default: 30.
        public var minimumQuality: Int {
            didSet { minimumQuality = SampleUploader.Configuration.clampedQuality(minimumQuality) }
        }

        /// What is kept while it is possible.
        ///
        /// Default: detail, with at least 5 frames a second.
        public var preference: Preference

        /// Creates an adaptation with the given values, and defaults for the rest.
        public init(maximumByteRate: Int? = nil, minimumQuality: Int = 30, preference: Preference = .detail()) {
            self.maximumByteRate = Self.checked(maximumByteRate)
            self.minimumQuality = SampleUploader.Configuration.clampedQuality(minimumQuality)
            self.preference = preference
        }

        /// The maximum in bytes a nanosecond.
        var byteRate: Double? { maximumByteRate.map { Double($0) / 1e9 } }

        private static func checked(_ rate: Int?) -> Int? { rate.flatMap { $0 > 0 ? $0 : nil } }

        /// Returns the longest time between two frames for the sake of the quality, in nanoseconds; 0 for none.
        func longestInterval(changesLittle: Bool) -> UInt64 {
            guard case .detail(let rate) = preference else { return 0 }
            return rate > 1 ? UInt64(min((changesLittle ? 5e9 : 1e9) / rate, 1e9)) : 1_000_000_000
        }
    }
}
