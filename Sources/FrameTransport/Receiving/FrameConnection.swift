public import FrameWire

/// One sender that is connected to a ``FrameServer``, and the frames that it sends.
///
/// The connection lasts as long as somebody holds it, its peer stays, and nobody closes it.
public final class FrameConnection: Sendable, Identifiable {
    /// The connection's number among those of its server, from 1.
    public let id: Int

    /// Who sends, as the kernel recorded it; nil over TCP.
    public let peer: PeerCredentials?

    private let driver: ReceivingDriver

    init(id: Int, peer: PeerCredentials?, driver: ReceivingDriver) {
        self.id = id
        self.peer = peer
        self.driver = driver
    }

    deinit {
        driver.abandon()
    }

    /// The frames, in the order in which they were sent; a sequence for one consumer.
    ///
    /// It ends when the sender ends in order or this side closes, and throws if the connection fails; every frame
    /// that was complete by then comes first. While the consumer is busy one further frame is read ahead, and then no
    /// more, so that the pressure reaches the sender; see ``FrameServer/Configuration/delivery``.
    public var frames: Frames { Frames(connection: self) }

    /// The sound that the sender sends, once it was asked for with a `ControlHello`; a sequence for one consumer.
    ///
    /// It ends with the connection. At most 64 messages wait, and at most an eighth of what the connection may take of the
    /// memory budget (by default 512 KiB); the oldest give way, see ``supersededAudio``. Audio and
    /// frames share the socket: a host that takes both should not let frames wait, see
    /// ``FrameServer/Delivery/newest``. One that asks for audio alone is not held up by frames.
    public var audio: Updates<AudioMessage> { Updates(mailbox: driver.audio, connection: self) }

    /// What the sender says of itself, in answer to a `ControlHello`; a sequence for one consumer.
    ///
    /// It ends with the connection. The latest 16 are kept for a consumer that comes late.
    public var statuses: Updates<SenderStatus> { Updates(mailbox: driver.statuses, connection: self) }

    /// How many audio messages gave way to newer ones, or were longer than all the memory that audio may take.
    public var supersededAudio: Int { driver.audio.replaced + driver.droppedAudio.value }

    /// The thread that reads this connection: a consumer that runs on it receives without a change of thread.
    public var thread: IOThread { driver.thread }

    /// How the connection ended; nil while it lasts.
    public var closeReason: CloseReason? { driver.closed.value }

    /// How many frames gave way to newer ones, if ``FrameServer/Configuration/delivery`` is `newest`.
    public var supersededFrames: Int { driver.mailbox.replaced }

    /// Waits until the connection has ended.
    ///
    /// - Throws: `cancelled` if the caller's task is cancelled first.
    public func closed() async throws(TransportError) -> CloseReason {
        try await driver.closed.value()
    }

    /// Sends the sender a request: hello, pause, resume, stop, what is preferred, a frame now, a ping.
    ///
    /// A plain sender reads it and drops it. Nothing waits for it: to a sender that does not read it is lost.
    public func send(_ request: ControlRequest) {
        driver.thread.execute { [driver] in driver.send(request) }
    }

    /// Ends the connection in order, and asks the sender to stop for good.
    ///
    /// Without a reason, as ``close()`` does it, the sender is only told that the connection has ended, and may come
    /// back. After ``FrameServer/drain()`` nothing can be told any more: the reason is this side's alone.
    public func close(_ reason: FinishReason) {
        driver.thread.execute { [driver] in driver.close(reason) }
    }

    /// Ends the connection in order.
    ///
    /// Frames that were received are still delivered; what is under way is not.
    public func close() {
        driver.thread.execute { [driver] in driver.close() }
    }

    /// The frames of one connection.
    public struct Frames: AsyncSequence, Sendable {
        fileprivate let connection: FrameConnection

        /// Starts to receive.
        public func makeAsyncIterator() -> Iterator {
            Iterator(connection: connection)
        }

        /// Receives the frames of one connection.
        public struct Iterator: AsyncIteratorProtocol {
            fileprivate let connection: FrameConnection

            /// The next frame; nil at the end, or if the caller's task is cancelled.
            ///
            /// On the connection's own thread a frame that has arrived is returned without suspending.
            ///
            /// - Throws: Why the connection failed.
            public mutating func next(isolation actor: isolated (any Actor)?) async throws(TransportError) -> Frame? {
                let driver = connection.driver
                if Task.isCancelled { return nil }
                if let frame = driver.mailbox.take() { return frame.handedOver() }
                if driver.thread.isCurrent {
                    if let frame = driver.receiveInline() { return frame.handedOver() }
                } else {
                    driver.resumeForConsumerElsewhere()
                }
                return try await driver.mailbox.next(isolation: actor)?.handedOver()
            }

            /// The next frame; nil at the end, or if the caller's task is cancelled.
            ///
            /// - Throws: Why the connection failed.
            public mutating func next() async throws(TransportError) -> Frame? {
                try await next(isolation: nil)
            }
        }
    }
}
