extension FrameServer {
    /// Observes the bytes that a server reads from its sockets, as they arrive and before they are parsed.
    ///
    /// Use it for logs. The beginning and the end of a connection are reported on the server's thread, and its bytes on
    /// the thread that reads it, which may be another (``Configuration/readers``); both wait for the call. Tokens are not
    /// included.
    public protocol Tap: AnyObject, Sendable {
        /// Called when a connection has been accepted.
        func connectionDidOpen(_ id: Int)

        /// Called when bytes have been read, in the order of the stream.
        ///
        /// The chunks do not correspond to message boundaries.
        func connection(_ id: Int, didRead bytes: Span<UInt8>)

        /// Called when a connection has ended; nothing more arrives from it.
        func connectionDidClose(_ id: Int)
    }
}
