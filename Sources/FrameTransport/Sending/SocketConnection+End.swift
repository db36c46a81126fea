extension SocketConnection {
    /// Calls `handler` once the connection has ended for good; the connection is not kept alive for that.
    package func onEnd(_ handler: @escaping @Sendable () -> Void) {
        Task { [closed = driver.closed] in
            guard (try? await closed.value()) != nil else { return }
            handler()
        }
    }
}
