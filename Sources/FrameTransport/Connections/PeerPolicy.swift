/// Which users may be the peer of a socket at a path.
///
/// The kernel identifies the peer: for a server, the user that connected; for a sender, the user that started to
/// listen. A peer that the kernel cannot identify is refused. The kernel identifies no peers of a port on the loopback
/// address; ``HandshakeTokens`` replace the policy there.
public struct PeerPolicy: Sendable, Hashable {
    /// The users; nil for the effective user of this process and root.
    private let userIDs: Set<UInt32>?

    /// The effective user of this process, and root.
    public static let sameUserOrRoot = PeerPolicy(userIDs: nil)

    /// Allows only these users; root only if it is among them.
    ///
    /// A server's socket still has mode 0600, and a user that the file's mode keeps out never gets as far as this
    /// check.
    public static func users(_ userIDs: Set<UInt32>) -> PeerPolicy {
        PeerPolicy(userIDs: userIDs)
    }

    /// Returns the peer of a socket at `path`.
    ///
    /// - Throws: `peerRefused` if it is another user or cannot be identified.
    @discardableResult
    package func admit(_ socket: Int32, at path: String) throws(TransportError) -> PeerPolicy.Credentials {
        let peer: PeerPolicy.Credentials
        do {
            peer = try Syscalls.peer(of: socket)
        } catch {
            throw TransportError(
                .peerRefused,
                path: path,
                underlyingErrno: error.rawValue,
                "the system does not report who owns the other end"
            )
        }
        let admitted = userIDs ?? [Syscalls.effectiveUserID, 0]
        guard admitted.contains(peer.userID) else {
            let names = admitted.sorted().map(String.init).joined(separator: " or ")
            throw TransportError(
                .peerRefused,
                path: path,
                "the other end belongs to user \(peer.userID), but only \(names) may own it; check the path"
            )
        }
        return peer
    }
}

extension PeerPolicy {
    /// The identity of a connection's peer, as recorded by the kernel when the connection was made.
    ///
    /// For TCP the kernel records none; tokens replace credentials there.
    public struct Credentials: Sendable, Hashable {
        /// The peer's process ID.
        ///
        /// The process may have ended since, and its ID may have been reused.
        public let processID: Int32

        /// The peer's effective user ID.
        public let userID: UInt32

        /// The peer's effective group ID.
        package let groupID: UInt32
    }
}
