extension ControlRequest {
    /// The request `hello`, with which a receiver introduces itself; until then, a sender writes only frames.
    public struct Hello: Sendable, Hashable {
        /// The version of the control channel that this implementation supports: 1.
        public static let currentVersion = 1

        /// The version of the messages for shared memory that this implementation supports: 1.
        public static let sharedMemoryVersion = 1

        /// The version that the receiver supports, 1 to 9,999: the field `Control-Version`.
        public var version: Int

        /// What the receiver wants to be sent: the fields `Wants-Pictures` and `Wants-Audio`.
        public var wants: Wants

        /// The version of the messages for shared memory that the receiver accepts, 1 to 9,999; nil if it accepts none: the
        /// field `Shared-Memory`, which is omitted in that case.
        public var sharedMemory: Int?

        /// Creates a hello without checking the values; a decoder may reject them.
        public init(
            version: Int = Hello.currentVersion,
            wants: Wants = .frames,
            sharedMemory: Int? = nil
        ) {
            self.version = version
            self.wants = wants
            self.sharedMemory = sharedMemory
        }
    }
}
