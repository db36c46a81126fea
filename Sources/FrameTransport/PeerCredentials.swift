/// Who is at the other end of a connection, as the kernel recorded it when the connection was made.
///
/// Over TCP the kernel records nothing, and tokens take the place of credentials.
public struct PeerCredentials: Sendable, Hashable {
    /// The peer's process.
    ///
    /// It may have ended since, and its number may be another process's by now.
    public let processID: Int32

    /// The peer's effective user.
    public let userID: UInt32

    /// The peer's effective group.
    public let groupID: UInt32
}
