/// Sees the bytes that a server reads from its sockets, as they come and before anything is made of them.
///
/// For logs. Its methods are called on the server's thread, which waits for them; tokens are not shown.
public protocol WireTap: AnyObject, Sendable {
    /// A connection was accepted.
    func connectionDidOpen(_ id: Int)

    /// Bytes were read, in the order of the stream.
    ///
    /// How many at a time says nothing about where messages begin.
    func connection(_ id: Int, didRead bytes: Span<UInt8>)

    /// A connection has ended; nothing more comes from it.
    func connectionDidClose(_ id: Int)
}
