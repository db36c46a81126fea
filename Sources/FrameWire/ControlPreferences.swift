/// How a receiver would like its pictures: the request `prefer`.
///
/// Each request states all of it: what is nil is left to the sender, also where an earlier one asked for something.
public struct ControlPreferences: Sendable, Hashable {
    /// The frames in 1,000 seconds, 1 to 1,000,000, which is 1 mHz to 1 kHz: the field `Prefer-Frame-Rate`.
    ///
    /// So 29.97 frames a second are 29,970, without a fraction on the wire.
    public var frameRateInMillihertz: Int?

    /// A box that the pictures should fit in, 1 to 16,384 each way: `Prefer-Width` and `Prefer-Height`.
    public var size: BufferSize?

    /// The quality of the JPEGs, 1 to 100: the field `Prefer-Quality`.
    public var quality: Int?

    /// Creates preferences; nothing is checked here, and a decoder may refuse what they say.
    public init(frameRateInMillihertz: Int? = nil, size: BufferSize? = nil, quality: Int? = nil) {
        self.frameRateInMillihertz = frameRateInMillihertz
        self.size = size
        self.quality = quality
    }

    /// The frames in a second, as a fraction.
    ///
    /// What is set is rounded to the nearest number that the wire has: to 0.001 at least and 1,000 at most. What is not
    /// a number is taken as nil.
    public var frameRate: Double? {
        get { frameRateInMillihertz.map { Double($0) / 1_000 } }
        set {
            frameRateInMillihertz = newValue.flatMap { rate in
                rate.isNaN ? nil : Int(min(max(rate, 0.001), 1_000) * 1_000 + 0.5)
            }
        }
    }
}
