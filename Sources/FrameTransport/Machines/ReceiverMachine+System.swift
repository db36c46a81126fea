package import FrameWire

extension ReceiverMachine {
    /// What a machine calls to carry out its decisions: the driver of a socket, or a simulated one.
    ///
    /// Every call returns its result at once, and must not report an event to the same machine before it returns.
    package protocol System: AnyObject {
        /// The current time.
        var now: UInt64 { get }

        /// Reads once into two places, one after the other; 0 bytes are the end of the stream.
        func read(into first: MemoryRun, _ second: MemoryRun) throws(Errno) -> Transfer
        /// Reads a part of the sender's token.
        func readToken(into run: MemoryRun) throws(Errno) -> Transfer
        /// Reads once and discards.
        func discard() throws(Errno) -> Transfer
        /// Returns how many descriptors came with the last read, if any, and whether any were lost on this side.
        func takeArrivals() -> (count: Int, areLost: Bool)?
        func write(_ requests: [UInt8]) throws(Errno) -> Transfer
        /// Writes this side's token.
        func writeToken() throws(TransportError)
        func shutDownSending()
        func shutDownReceiving()
        /// Closes the socket, and reports the reason. This is the last call.
        func close(_ reason: CloseReason)
        /// Lets other connections have their turns; ``resume(_:)`` follows.
        func yield()
        /// Whether many connections wait for their turns.
        var isCrowded: Bool { get }

        /// Keeps the connection's place at the server; false if it has been revoked.
        func keepPlace() -> Bool
        /// Presents the connection to the program: frames may arrive from now on.
        func present()
        /// Whether frames have been delivered that the program has not taken.
        var hasUntakenFrames: Bool { get }
        /// Returns how many frames the consumer has room for, optionally after it has taken what waits there, and the
        /// bytes of the waiting frames; if there is no room, ``roomAvailable(_:)`` follows.
        func reserveRoom(onceEmpty: Bool) -> (room: Int, waitingByteCount: Int)
        /// Delivers a frame, whose body may have been admitted for it; if `more` may follow in this run, its consumer can be woken
        /// at the end of the run.
        func deliver(_ frame: consuming Frame, more: Bool)
        /// Delivers a frame in a shared buffer, with its image; ``bufferReleased(_:_:)`` follows when that is released.
        func deliver(_ frame: consuming Frame, in header: SharedFrameHeader, more: Bool)
        func deliver(_ block: AudioBlock)
        func deliver(_ status: SenderStatus)
        /// Delivers what the sender states about itself, which replaces what it stated before.
        func deliver(_ info: ControlRequest.SessionInfo)
        /// Counts an audio message that was requested, but exceeds the memory for audio.
        func countDroppedAudio()
        /// Delivers nothing further, for this reason, with which ``close(_:)`` follows; the consumer keeps what it has not
        /// taken yet.
        func endDelivery(_ reason: CloseReason)

        /// Asks the memory budget for the next body; if it has no room, ``memoryAvailable(_:)`` follows, and the body asks
        /// again.
        func askForMemory(byteCount: Int) -> Bool
        /// The body that has asked, and waits, needs no memory any more.
        func withdrawRequestForMemory()
        /// Maps the first descriptor that has arrived; false if this process has no room for it.
        ///
        /// - Throws: `sharedMemory` if the memory is not what it should be.
        func map(_ header: SharedFrameHeader.Buffer) throws(TransportError) -> Bool
        /// Closes the first descriptor that has arrived.
        func dropDescriptor()
        /// Releases every shared buffer that the program does not hold.
        func unmapBuffers()
    }
}
