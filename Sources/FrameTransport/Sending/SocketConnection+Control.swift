public import FrameWire

/// What the receiver asks for, and sound for one that asked.
extension SocketConnection {
    /// What the receiver asks for; a sequence for one consumer, which ends with the connection.
    ///
    /// Pings are answered, and a stop is obeyed, by the connection itself; a `SampleUploader` sees to the rest. The latest
    /// 16 requests are kept for a consumer that comes late.
    public var requests: Updates<ControlRequest> { Updates(mailbox: driver.control.requests, connection: self) }

    /// How the receiver introduced itself; nil if it did not, as no plain one does.
    public var hello: ControlHello? { driver.control.hello }

    /// What the receiver wants: images alone, unless it said otherwise.
    public var wants: ControlWants { driver.lane.wants }

    /// What is wanted at present, and every change of it; a sequence for one consumer, which ends with the connection.
    ///
    /// Nothing is wanted (`[]`) while no receiver is connected, and by one that has asked for a pause; a plain receiver wants
    /// images. So a program can start and stop its camera:
    ///
    ///     for await wanted in connection.demand {
    ///         if wanted.contains(.pictures) { camera.start() } else { camera.stop() }
    ///     }
    ///
    /// A consumer that is busy meanwhile gets the latest alone.
    public var demand: Updates<ControlWants> { Updates(mailbox: driver.demand, connection: self) }

    /// Whether the receiver wants nothing to be sent for now.
    public var isPaused: Bool { driver.lane.isPaused }

    /// How many requests were not understood, and skipped.
    public var skippedRequests: Int { driver.control.skippedRequests }

    /// How many messages of sound were not sent: not wanted, or given up for newer ones.
    public var droppedAudio: Int { driver.lane.droppedAudio }

    /// Sends sound, to a receiver that asked for it.
    ///
    /// It never waits for more than the message under way. At most 64 messages wait; the oldest give way.
    ///
    /// - Parameter message: At most 256 KiB of samples.
    /// - Returns: Whether it was taken; false if nobody is connected, or it was not asked for, or it is paused.
    /// - Throws: `invalidAudio` if the message can never be sent.
    @discardableResult
    public func send(_ message: AudioMessage) throws(TransportError) -> Bool {
        try message.check()
        // Whatever it is refused for, the caller is told by false alone.
        guard let progress = try? driver.lane.send(message) else { return false }
        followUp(progress)
        return true
    }

    /// What the receiver has stated.
    package var terms: ReceiverTerms { driver.terms.terms }

    /// Calls `observer` with what the receiver has stated, before this returns, and with every change, on the
    /// connection's thread.
    ///
    /// There is one observer; it must be quick, and may be called from two threads at first: see
    /// ``ReceiverTerms/revision``.
    package func observeTerms(_ observer: @escaping @Sendable (ReceiverTerms) -> Void) {
        driver.terms.observe(observer)
    }

    /// Leaves to the connection's thread what a send has left over.
    func followUp(_ progress: SendLane.Progress) {
        if progress != .sent { thread.execute { [driver] in driver.laneChanged() } }
    }
}
