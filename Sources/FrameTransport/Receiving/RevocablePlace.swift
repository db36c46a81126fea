internal import Locking

/// The place of a connection at its server, which can be revoked until the sender has sent its token.
///
/// The server and the connection may run on different threads: whichever comes first decides.
final class RevocablePlace: Sendable {
    private enum State {
        case revocable, kept, revoked
    }

    private let state = Locked(State.revocable)

    /// Keeps the place for good; false if it has been revoked.
    func keep() -> Bool { become(.kept) }

    /// Revokes the place; false if it has been kept.
    func revoke() -> Bool { become(.revoked) }

    private func become(_ new: State) -> Bool {
        state.withLock { state in
            guard state == .revocable else { return false }
            state = new
            return true
        }
    }
}
