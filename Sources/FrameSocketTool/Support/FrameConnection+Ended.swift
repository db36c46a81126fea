import FrameSocket

extension FrameConnection {
    /// Waits until the connection has ended, even if the caller's task is cancelled: its end is always reported.
    func ended() async -> CloseReason {
        // An unstructured task, which nobody cancels.
        await Task { try? await self.closed() }.value ?? .closedLocally(.stoppedByUser)
    }
}
