/// What a receiver wants to be sent.
///
/// Members other than those named here are not written to the wire.
public struct ControlWants: OptionSet, Sendable, Hashable {
    /// The members, a bit each.
    public let rawValue: UInt8

    /// Creates the set with these bits.
    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// Frames: the field `Wants-Pictures`.
    public static let pictures = Self(rawValue: 1 << 0)

    /// Audio messages: the field `Wants-Audio`.
    public static let audio = Self(rawValue: 1 << 1)
}
