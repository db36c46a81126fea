public import FrameWire

extension FrameServer {
    /// The sizes, counts and times that one end allows the other.
    ///
    /// Time limits are absolute deadlines on a monotonic clock. A time below zero counts as zero, and one of more than 2^32
    /// seconds as no limit. A number below its range counts as the lowest in it; with 0 connections, bytes, fields or
    /// pixels every sender is refused.
    public struct Limits: Sendable, Hashable {
        /// The limits of a message.
        public var wire = FrameMessageDecoder.Limits()

        /// The time allowed for the other side to send its token, if tokens are used.
        ///
        /// Default: 5 s.
        public var handshakeTimeout: Duration = .seconds(5)

        /// The time from the opening of a connection to the start of its first message, of any kind.
        ///
        /// A sender that has stated its status or announced a shared buffer may then be silent, as after a frame.
        ///
        /// Default: nil, no limit, because a sender may have nothing to send yet. A server whose places are few, and whose
        /// senders always have a frame, may set one.
        public var firstFrameTimeout: Duration?

        /// The time allowed for a header, from its first byte.
        ///
        /// Default: 5 s.
        public var headerTimeout: Duration = .seconds(5)

        /// The time allowed for a body, in addition to what ``minimumBodyBytesPerSecond`` grants.
        ///
        /// Default: 10 s.
        public var bodyTimeout: Duration = .seconds(10)

        /// The average rate at which a body must arrive, once ``bodyTimeout`` is used up.
        ///
        /// Default: 1 MiB/s; at least 1 byte per second.
        public var minimumBodyBytesPerSecond = 1 << 20

        /// The time that a sender may be silent between two messages, unless this receiver has requested a pause or wants
        /// nothing.
        ///
        /// It is measured from the end of a message, or from the request after which the sender may speak again.
        ///
        /// Default: nil, no limit, because a screen may stay unchanged.
        public var idleTimeout: Duration?

        /// The maximum number of connected senders; another one is closed at once.
        ///
        /// Default: 64. A larger number should stay well below the process's limit of descriptors: a server that has none
        /// left pauses, but Swift's Dispatch on Linux, on which every task runs, ends a process that has none (SIGILL).
        public var maximumConnections = 64

        /// The maximum number of connections whose senders have yet to send their token, if tokens are used.
        ///
        /// To make room for another one, or for one over ``maximumConnections``, the oldest of them is closed.
        ///
        /// Default: 16; at least 1, and no more than ``maximumConnections``.
        public var maximumHandshakes = 16

        /// The number of consecutive undecodable frames at which a connection is closed.
        ///
        /// Default: 8; at least 1. See ``Frame/reportUndecodable()``.
        public var maximumUndecodableFrames = 8

        /// The maximum number of connections that wait to be accepted.
        ///
        /// Default: 128. With a negative number, as many as the system allows.
        public var maximumBacklog = 128

        /// The first pause in accepting when the system is short of descriptors or memory.
        ///
        /// Default: 100 ms. It doubles with each attempt that fails, up to ``maximumAcceptPause``.
        public var firstAcceptPause: Duration = .milliseconds(100)

        /// The maximum to which ``firstAcceptPause`` grows.
        ///
        /// Default: 1 s.
        public var maximumAcceptPause: Duration = .seconds(1)

        /// The time that an orderly close waits for the other side to close too.
        ///
        /// Default: 1 s.
        public var linger: Duration = .seconds(1)

        /// Creates limits with the defaults.
        public init() {}

        /// Returns the time allowed for a body of `length` bytes.
        func bodyDuration(length: Int) -> Duration {
            // Cut first: the sum of the largest durations overflows.
            min(bodyTimeout, .longestDeadline) + .seconds(Double(length) / Double(max(1, minimumBodyBytesPerSecond)))
        }
    }
}

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
