package import FrameWire

extension SenderMachine {
    /// What a machine calls to carry out its decisions: the driver of a socket, or a simulated one.
    ///
    /// Every call returns its result at once, and must not report an event to the same machine before it returns.
    package protocol System: AnyObject {
        /// The current time, in nanoseconds of a monotonic clock.
        var now: UInt64 { get }

        /// Creates a socket and connects it; the previous one has been closed.
        func connect() -> Attempt
        /// Returns the outcome of a connection that was ``Attempt/pending``, once the socket is writable.
        func checkConnected() throws(Errno)
        /// Checks the peer.
        func checkPeer() -> Peer
        /// Writes this side's token from `offset` on.
        func writeToken(from offset: Int) throws(Errno) -> Transfer
        /// Reads once; 0 bytes are the end of the stream.
        func read(into run: MemoryRun) throws(Errno) -> Transfer
        func shutDownSending()
        /// Returns whether the server has taken a frame or audio that was sent over the connection, as far as is known; asked
        /// before the socket is closed.
        func hasDelivered(isOrderly: Bool) -> Bool
        /// Closes the socket, if any, and takes it from the lane, whose frame fails with the error.
        func closeSocket(_ loss: TransportError)
        /// Lets other connections have their turns; ``continueTurn(_:)`` follows.
        func yield()

        /// Hands the socket over to the lane.
        func openLane(connection: Int)
        /// Changes the lane, and writes what the socket accepts.
        func lane(_ change: (inout SendLaneMachine) -> SendLaneMachine.Settlement?) -> SendLaneMachine.Progress

        /// Tells a caller that the connection has opened or, with an error, that it will not.
        func settle(_ waiter: Int, _ error: TransportError?)
        func publish(_ state: SocketConnection.State)
        func publish(_ terms: ReceiverTerms)
        /// Notes the receiver's hello; nil for a new receiver, which has sent none.
        func note(_ hello: ControlRequest.Hello?)
        /// Publishes what the receiver states about itself; nothing for a new receiver.
        func publish(_ info: ControlRequest.SessionInfo)
        func deliver(_ request: ControlRequest)
        /// Counts a request that was not understood.
        func countSkippedRequest()
        /// Notes that the server has not taken everything that it has read.
        func noteDiscarded()
        /// Publishes the end, which is permanent. This is the last call.
        func end(_ reason: CloseReason)
    }

    /// What has come of an attempt to connect so far.
    package enum Attempt {
        case connected
        /// The socket becomes writable when the connection is made, or fails.
        case pending
        case failed(Errno)
        /// The endpoint or the token is invalid: no later attempt can succeed.
        case unusable(TransportError)
    }

    /// Whom the socket is connected to.
    package enum Peer {
        case admitted
        /// Somebody whom this side does not accept, which ends the connection for good.
        case refused(TransportError)
        /// The socket itself, which can happen over TCP if nobody listens at the port.
        case thisSide
    }
}
