extension ControlRequest {
    /// The request `prefer`: a receiver's preferences for its frames.
    ///
    /// Each request replaces the previous one completely: a nil value leaves the choice to the sender, even if an earlier
    /// request stated a preference.
    public struct Preferences: Sendable, Hashable {
        /// The frame rate in millihertz, 1 to 1,000,000, which is 1 mHz to 1 kHz: the field `Prefer-Frame-Rate`.
        ///
        /// For example, 29.97 frames per second are 29,970, so the wire needs no fraction.
        public var frameRateInMillihertz: Int?

        /// The box that the frames should fit in, 1 to 16,384 on each side: `Prefer-Width` and `Prefer-Height`.
        public var size: BufferSize?

        /// The JPEG quality, 1 to 100: the field `Prefer-Quality`.
        public var quality: Int?

        /// Creates preferences without checking the values; a decoder may reject them.
        public init(frameRateInMillihertz: Int? = nil, size: BufferSize? = nil, quality: Int? = nil) {
            self.frameRateInMillihertz = frameRateInMillihertz
            self.size = size
            self.quality = quality
        }

        /// The frame rate in frames per second.
        ///
        /// A new value is rounded to the nearest one that the wire can express, from 0.001 to 1,000. NaN is treated as nil.
        public var frameRate: Double? {
            get { frameRateInMillihertz.map { Double($0) / 1_000 } }
            set {
                frameRateInMillihertz = newValue.flatMap { rate in
                    rate.isNaN ? nil : Int(min(max(rate, 0.001), 1_000) * 1_000 + 0.5)
                }
            }
        }
    }
}
