/// How a receiver introduces itself: the request `hello`, before which a sender writes nothing but frames.
public struct ControlHello: Sendable, Hashable {
    /// The version of the control channel that this text and code speak: 1.
    public static let currentVersion = 1

    /// The version that the receiver speaks, 1 to 9,999: the field `Control-Version`.
    public var version: Int

    /// What it wants to be sent: the fields `Wants-Pictures` and `Wants-Audio`.
    public var wants: ControlWants

    /// Creates a hello; nothing is checked here, and a decoder may refuse what it says.
    public init(version: Int = ControlHello.currentVersion, wants: ControlWants = .pictures) {
        self.version = version
        self.wants = wants
    }
}
