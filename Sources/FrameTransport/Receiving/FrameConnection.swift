public import FrameWire
internal import Locking

/// The connection of one sender to a ``FrameServer``, with the frames that it sends.
///
/// The connection lasts as long as it is referenced, its peer stays, and neither side closes it. Of its sequences, ``frames``
/// alone keeps it.
///
/// Thread safety: any thread may use a connection at any time. Each of its sequences is for one consumer: two loops
/// over ``frames`` share the frames, and each frame goes to one of them.
public final class FrameConnection: Sendable, Identifiable {
    /// The number of the connection within its server, from 1.
    public let id: Int

    /// The sender's identity, as recorded by the kernel; nil over TCP.
    public let peer: PeerPolicy.Credentials?

    let driver: ReceivingDriver

    init(id: Int, peer: PeerPolicy.Credentials?, driver: ReceivingDriver) {
        self.id = id
        self.peer = peer
        self.driver = driver
    }

    deinit {
        driver.abandon()
    }

    /// The frames, in the order sent; a sequence for one consumer.
    ///
    /// Several loops share the frames: each frame goes to one of them. A ``FrameConnection/Broadcaster`` gives every frame to several.
    ///
    /// The sequence ends when the sender ends cleanly or this side closes, and throws if the connection fails; every
    /// frame that is complete by then is delivered first, unless too many before it could not be decoded. While the consumer is busy, one further frame is read ahead
    /// and then no more, so that back pressure reaches the sender; see ``FrameServer/Configuration/delivery``.
    public var frames: Frames { Frames(connection: self) }

    /// The audio that the sender sends, once requested with a `ControlRequest.Hello`; a sequence for one consumer.
    ///
    /// The messages come in the order in which they were submitted. The sequence ends with the connection. At most 64
    /// messages are buffered, and at most an eighth of the connection's part of the memory budget: by default 512 KiB, and
    /// never more than 1 MiB. The oldest are dropped.
    /// Audio and frames share the socket: a host that receives both should not let frames wait, see
    /// ``FrameServer/Delivery/newest``. A host that requests only audio is not held up by frames.
    public var audio: ConnectionValues<AudioBlock> { ConnectionValues(mailbox: driver.audio) }

    /// The sender's statuses, in answer to a `ControlRequest.Hello`; a sequence for one consumer.
    ///
    /// The sequence ends with the connection. The latest 16 are kept for a consumer that starts late.
    public var statuses: ConnectionValues<SenderStatus> { ConnectionValues(mailbox: driver.statuses) }

    /// What the sender states about itself: its values, and what it sends, as far as it knows.
    ///
    /// Empty until it states something, which a sender does once, after this side's hello, and with a plain sender. If this
    /// side wants frames, it comes with their size right before the first that follows the hello.
    public var info: ControlRequest.SessionInfo { driver.info.value }

    /// The current ``info``, and every later one, as senders of earlier versions state; a sequence for one consumer, which
    /// ends with the connection.
    ///
    /// Every call returns an independent sequence, which does not keep the connection. A busy consumer gets the latest 16.
    public var infos: AsyncStream<ControlRequest.SessionInfo> { driver.info.values() }

    /// The thread that reads this connection; a consumer that runs on it receives without a thread switch.
    public var thread: IOThread { driver.thread }

    /// The reason for the connection's end; nil while it lasts.
    ///
    /// It is known when ``frames`` ends. After a ``close()`` that is before ``closed()`` returns: the sender has a moment to
    /// close too.
    public var closeReason: CloseReason? { driver.closed.value ?? driver.closeReason.withLock { $0 } }

    /// The error that ``frames`` ended with; nil if they have not ended, or ended cleanly.
    var framesError: TransportError? { driver.mailbox.error }

    /// The counters of a connection.
    public struct Statistics: Sendable, Hashable {
        /// The number of frames that the program has taken.
        public let frames: Int

        /// The number of bytes of these frames' bodies, including padding; frames in shared memory have none.
        public let bytes: UInt64

        /// The number of frames replaced by newer ones, if ``FrameServer/Configuration/delivery`` is `newest`.
        public let supersededFrames: Int
    }

    /// A snapshot of the counters.
    public var statistics: Statistics {
        let (frames, bytes) = driver.takenFrames.withLock { $0 }
        return Statistics(frames: frames, bytes: bytes, supersededFrames: driver.mailbox.replaced)
    }

    /// Waits until the connection has ended.
    ///
    /// - Throws: `cancelled` if the calling task is cancelled first.
    public func closed() async throws(TransportError) -> CloseReason {
        try await driver.closed.value()
    }

    /// Sends the sender a request: hello, pause, resume, stop, preferences, an immediate frame, a ping, or what this side
    /// states about itself, of which only the first is sent.
    ///
    /// Requests arrive in their order, each as a whole. A plain sender reads and drops them. The call does not wait: at most 16 KiB of requests are kept for a sender that
    /// does not read, and a request that does not fit is dropped.
    public func send(_ request: ControlRequest) {
        driver.report { $0.send(request, $1) }
    }

    /// Ends the connection cleanly, and asks the sender to stop permanently.
    ///
    /// Without a reason, as with ``close()``, the sender is only told that the connection has ended, and may reconnect.
    /// After ``FrameServer/drain()`` nothing can be sent to the sender: only this side knows the reason.
    public func close(_ reason: ControlRequest.FinishReason) {
        driver.report { $0.close(reason, $1) }
    }

    /// Ends the connection cleanly.
    ///
    /// Frames that wait for the consumer are still delivered. Frames behind them are not, even if they have arrived;
    /// ``FrameServer/drain()`` delivers those as well.
    public func close() {
        driver.report { $0.close(nil, $1) }
    }

    /// The frames of one connection.
    public struct Frames: AsyncSequence, Sendable {
        fileprivate let connection: FrameConnection

        /// Creates an iterator over the frames.
        public func makeAsyncIterator() -> Iterator {
            Iterator(mailbox: connection.driver.mailbox, owner: connection)
        }

        /// An iterator over the frames of one connection, or of a reader of its ``FrameConnection/Broadcaster``.
        public struct Iterator: AsyncIteratorProtocol {
            let mailbox: Mailbox<Frame>
            /// What the iterator keeps: the connection or the reader.
            let owner: any AnyObject & Sendable

            /// Returns the next frame; nil at the end, or if the calling task is cancelled.
            ///
            /// - Throws: The error with which the connection failed, or `departedSenderDropped`.
            public mutating func next(isolation actor: isolated (any Actor)?) async throws(TransportError) -> Frame? {
                if Task.isCancelled { return nil }
                if let frame = takeReady() { return frame }
                return try await mailbox.wait()
            }

            /// Takes the next frame if it is there: a call that may suspend takes 500 instructions more.
            package func takeReady() -> Frame? { mailbox.take() }

            /// Returns the next frame; nil at the end, or if the calling task is cancelled.
            ///
            /// - Throws: The error with which the connection failed, or `departedSenderDropped`.
            public mutating func next() async throws(TransportError) -> Frame? {
                try await next(isolation: nil)
            }
        }
    }
}
