extension SocketConnection {
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
