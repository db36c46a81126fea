/// Which users may be at the other end of a socket at a path.
///
/// The kernel says who it is: for a server, who had connected; for a sender, who had begun to listen. A peer that it says
/// nothing of is refused. Of a port on the loopback address it knows nothing, and ``HandshakeTokens`` take the place of this.
public struct PeerPolicy: Sendable, Hashable {
    /// Nil for the effective user of this process and root.
    private let userIDs: Set<UInt32>?

    /// The effective user of this process, and root.
    public static let sameUserOrRoot = PeerPolicy(userIDs: nil)

    /// These users and no others; root only if it is among them.
    ///
    /// A server's socket has mode 0600 all the same: its file's mode decides who comes as far as being asked for.
    public static func users(_ userIDs: Set<UInt32>) -> PeerPolicy {
        PeerPolicy(userIDs: userIDs)
    }

    /// Who is at the other end of a socket, which is at `path`.
    ///
    /// - Throws: `peerRefused` if it is somebody else or nobody can say.
    func admit(_ socket: Int32, at path: String) throws(TransportError) -> PeerCredentials {
        let peer: PeerCredentials
        do {
            peer = try Syscalls.peer(of: socket)
        } catch {
            throw TransportError(
                .peerRefused,
                path: path,
                systemError: error,
                "the system does not say whose the other end is"
            )
        }
        let admitted = userIDs ?? [Syscalls.effectiveUserID, 0]
        guard admitted.contains(peer.userID) else {
            let names = admitted.sorted().map(String.init).joined(separator: " or ")
            throw TransportError(
                .peerRefused,
                path: path,
                "the other end belongs to user \(peer.userID) and should to \(names); is the path the right one?"
            )
        }
        return peer
    }
}
