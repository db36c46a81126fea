extension ControlRequest {
    /// What a receiver wants to be sent.
    ///
    /// Members other than those defined here are not written to the wire.
    public struct Wants: OptionSet, Sendable, Hashable {
        /// The bits of the set, one for each member.
        public let rawValue: UInt8

        /// Creates a set from its bits.
        public init(rawValue: UInt8) {
            self.rawValue = rawValue
        }

        /// Frames: the field `Wants-Pictures`.
        public static let frames = Self(rawValue: 1 << 0)

        /// Audio messages: the field `Wants-Audio`.
        public static let audio = Self(rawValue: 1 << 1)
    }
}
