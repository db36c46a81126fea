import FrameSocket

extension FrameConnection {
    /// Waits until the connection has ended, also if the caller's task is cancelled: its end is reported whatever happens.
    func ended() async -> CloseReason {
        // A task of its own, which nobody cancels.
        await Task { try? await self.closed() }.value ?? .closedLocally(.stoppedByUser)
    }
}
