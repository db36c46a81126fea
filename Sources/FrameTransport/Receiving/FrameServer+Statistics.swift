extension FrameServer {
    /// A snapshot of what a server has done, and of what it holds.
    public struct Statistics: Sendable, Hashable {
        /// Why a sender was refused.
        public enum Refusal: String, Sendable, Hashable, CaseIterable {
            /// Every slot was taken: ``FrameServer/Limits/maximumConnections``.
            case place
            /// Its user may not connect: ``FrameServer/Configuration/peers``.
            case user
            /// It did not send the right token in time.
            case token
        }

        /// The number of open connections.
        public internal(set) var connections = 0

        /// The number of connections that were given a slot so far, including those that are open.
        public internal(set) var acceptedConnections = 0

        /// The number of refused senders, by reason.
        public internal(set) var refusals: [Refusal: Int] = [:]

        /// The number of departed senders that were dropped with the frames that the program had not taken.
        ///
        /// At most ``FrameServer/Limits/maximumConnections`` departed senders wait in ``FrameServer/connections``; beyond
        /// that the oldest is dropped. A departed sender's unread frames are dropped if their memory is needed; their
        /// consumer gets the error `departedSenderDropped`. A sender counts once.
        public internal(set) var droppedSenders = 0

        /// The number of frames that the program has taken.
        public internal(set) var frames = 0

        /// The number of bytes of these frames' bodies, including padding; frames in shared memory have none.
        public internal(set) var bytes: UInt64 = 0

        /// The number of frames that had arrived and were discarded, because the program closed or released their connection
        /// before it had taken them, or they were dropped with a departed sender or behind undecodable ones.
        ///
        /// Frames that newer ones replaced are counted by ``supersededFrames``. What a sender sends after its connection was
        /// closed is not read as frames.
        public internal(set) var discardedFrames = 0

        /// The number of frames that the program has reported as undecodable; `FrameDecoder` reports them.
        public internal(set) var undecodableFrames = 0

        /// The number of frames that newer ones replaced, if the delivery is ``FrameServer/Delivery/newest``.
        public internal(set) var supersededFrames = 0

        /// The bytes that connected senders' messages take now: those that are arriving, and those that the program has not
        /// taken.
        ///
        /// Shared memory is not included, nor are frames that the program holds.
        public internal(set) var memoryInFlight = 0

        /// The number of times that the server has paused accepting, because the system was short of descriptors or
        /// memory.
        public internal(set) var acceptPauses = 0

        /// Whether the server has paused accepting now.
        public internal(set) var isAcceptingPaused = false

        package init() {}

        /// The number of refused senders.
        public var refusedConnections: Int { refusals.values.reduce(0, +) }
    }
}
