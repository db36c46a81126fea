extension ListenerMachine {
    /// What a machine calls to carry out its decisions: the driver of a listening socket, or a simulated one.
    ///
    /// What a call brings about at the connections is reported as an event after it has returned.
    package protocol System: AnyObject {
        /// The current time.
        var now: UInt64 { get }

        /// What the server counts of accepting, which others may read at any time.
        var statistics: FrameServer.Statistics { get set }

        /// Accepts one connection, and keeps it until it is admitted or turned away.
        ///
        /// - Returns: Whether its user may connect; nil if the socket has been released.
        func accept() throws(Errno) -> Bool?
        /// Starts the connection that was accepted last, under this number; ``started(_:_:)`` follows.
        func admit(_ id: Int)
        /// Closes the connection that was accepted last, for this reason.
        func turnAway(for reason: FrameServer.Statistics.Refusal)
        /// Revokes the place of a connection that has yet to send its token, and closes it; false if the token has just come.
        func makeWay(_ id: Int) -> Bool
        /// Reports that accepting has paused, because the system was short of a resource.
        func paused(_ error: Errno)
        /// Lets connections have their turns; ``resume()`` follows.
        func yield()

        /// Releases the socket and its path.
        func stopListening()
        /// Presents no further connections; the error, if any, is the reason.
        func endPresenting(_ error: TransportError?)
        func closeConnections()
        func drainConnections()
        /// Drops a departed sender from the queue of connections; false if the program has just taken it.
        func dropDeparted(_ id: Int) -> Bool
        /// Reports that everything has ended. This is the last call.
        func finish()
    }
}
