public import FrameWire
internal import Locking

/// The receiver's requests, and audio for a receiver that requested it.
extension SocketConnection {
    /// The receiver's requests in their order; a sequence for one consumer, which ends with the connection.
    ///
    /// The connection itself answers pings and obeys a stop; a `SampleUploader` handles the rest. The latest 16
    /// requests are kept for a consumer that starts late. What one of them asks for may be sent as soon as it is known.
    public var requests: ConnectionValues<ControlRequest> { ConnectionValues(mailbox: driver.requests) }

    /// What the receiver states about itself: its values; empty until it states some, and with a plain receiver.
    ///
    /// It ends with the receiver's connection.
    public var info: ControlRequest.SessionInfo { driver.info.value }

    /// The current ``info``, and every later one; a sequence for one consumer, which ends with the connection.
    ///
    /// Every call returns an independent sequence, which does not keep the connection. A busy consumer gets the latest 16.
    public var infos: AsyncStream<ControlRequest.SessionInfo> { driver.info.values() }

    /// States the frame rate of the source in millihertz to every later receiver, unless the program states one; `rate` must
    /// not use the connection.
    package func stateFrameRate(_ rate: () -> Int?) {
        // Within the lock, so that the latest one counts.
        driver.lane.withMachine { $0.frameRate = rate() }
    }

    /// What the receiver of a connection has stated.
    public struct Receiver: Sendable, Hashable {
        /// The receiver's hello; nil if it sent none, as plain receivers do not.
        public let hello: ControlRequest.Hello?

        /// What the receiver wants: only frames, unless it stated otherwise.
        public let wants: ControlRequest.Wants

        /// Whether the receiver has requested a pause.
        public let isPaused: Bool

        /// The number of requests that were not understood, and skipped, of all receivers so far.
        public let skippedRequests: Int

        /// The number of audio messages that were not sent to any receiver so far: not wanted, not offered, or dropped for
        /// newer ones.
        public let droppedAudio: Int
    }

    /// What the receiver has stated so far, and what became of it.
    public var receiver: Receiver {
        let (receiver, droppedAudio) = driver.lane.withMachine { ($0.receiver, $0.droppedAudio) }
        return Receiver(
            hello: receiver.hello,
            wants: receiver.wants,
            isPaused: receiver.isPaused,
            skippedRequests: driver.facts.withLock { $0.skippedRequests },
            droppedAudio: droppedAudio
        )
    }

    /// The current demand, and every change of it; a sequence for one consumer, which ends with the connection.
    ///
    /// Every call returns an independent sequence, which does not keep the connection.
    /// The demand is empty (`[]`) while no receiver is connected, and while the receiver has requested a pause; a plain
    /// receiver wants frames. Use it to start and stop a camera:
    ///
    /// ```swift
    /// for await wanted in sender.demand {
    ///     if wanted.contains(.frames) { camera.start() } else { camera.stop() }
    /// }
    /// ```
    ///
    /// A busy consumer gets only the latest value.
    public var demand: AsyncStream<ControlRequest.Wants> { driver.demand.values() }

    /// Whether audio is sent to a receiver that requested it; if not, no audio message is accepted.
    ///
    /// It may be changed at any time, and holds for later connections too. When it is set to false, messages that wait are
    /// dropped, and one that is partly written is completed; the receiver gets no audio, as from a sender that has none, and
    /// one that asks for the sender's info is told so there (``FrameConnection/info``). ``demand`` and ``receiver`` still state
    /// what the receiver wants.
    public var offersAudio: Bool {
        get { driver.lane.withMachine { $0.offersAudio } }
        set { driver.lane.withMachine { $0.setOffersAudio(newValue) } }
    }

    /// Sends audio to a receiver that requested it, if ``offersAudio``.
    ///
    /// Audio never waits for more than the message in progress. At most 64 messages are queued; the oldest are dropped.
    ///
    /// - Parameter block: The audio: at most 256 KiB.
    /// - Returns: Whether the block was accepted; false if no receiver is connected, the receiver did not request
    ///   audio or has requested a pause, or this side offers none.
    /// - Throws: `invalidAudio` if the block can never be sent.
    @discardableResult
    public func send(_ block: AudioBlock) throws(TransportError) -> Bool {
        try block.check()
        // Every cause of a refusal is reported as false.
        let progress = try? driver.lane.advance { machine throws(TransportError) in
            try machine.submit(block)
            return nil
        }
        guard let progress else { return false }
        followUp(progress)
        return true
    }

    /// The receiver's terms.
    package var terms: ReceiverTerms { driver.terms.value }

    /// Calls `call` with the receiver's terms before returning, and with every change on the connection's thread, as long
    /// as `observer` exists.
    ///
    /// There may be several observers, one for each uploader. `call` must be quick, and may at first be called from two
    /// threads: see ``ReceiverTerms/revision``.
    package func observeTerms<Observer: AnyObject & Sendable>(
        for observer: Observer,
        _ call: @escaping @Sendable (Observer, ReceiverTerms) -> Void
    ) {
        driver.terms.observe(for: observer, call)
    }

    /// Hands over to the connection's thread whatever a send has left to do.
    func followUp(_ progress: SendLane.Progress) {
        guard progress != .sent else { return }
        // The progress by then: the socket may have been replaced since.
        driver.report { $0.laneChanged(to: $1.lane.withMachine { $0.progress }, $1) }
    }
}
