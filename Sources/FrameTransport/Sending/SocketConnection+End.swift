internal import Locking

extension SocketConnection {
    /// Who listened when the last connection was made, also if it was refused; nil if there was none, or over TCP.
    package var peer: PeerPolicy.Credentials? { driver.peer.withLock { $0 } }

    /// Whether the connection has ended for good.
    package var hasEnded: Bool {
        if case .ended = state { true } else { closeReason != nil }
    }

    /// Calls `handler` once the connection has ended for good, without keeping the connection alive.
    package func onEnd(_ handler: @escaping @Sendable () -> Void) {
        Task { [closed = driver.closed] in
            guard (try? await closed.value()) != nil else { return }
            handler()
        }
    }
}
