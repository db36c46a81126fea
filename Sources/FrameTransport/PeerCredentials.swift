/// The identity of a connection's peer, as recorded by the kernel when the connection was made.
///
/// For TCP the kernel records none; tokens replace credentials there.
public struct PeerCredentials: Sendable, Hashable {
    /// The peer's process ID.
    ///
    /// The process may have ended since, and its ID may have been reused.
    public let processID: Int32

    /// The peer's effective user ID.
    public let userID: UInt32

    /// The peer's effective group ID.
    public let groupID: UInt32
}
