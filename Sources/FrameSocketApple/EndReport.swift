internal import FrameSocket
internal import Locking

/// The one report of a broadcast's end, unless nobody waits for it any more.
final class EndReport: Sendable {
    private let call: Locked<(@Sendable (CloseReason) -> Void)?>

    init(_ call: @escaping @Sendable (CloseReason) -> Void) {
        self.call = Locked(call)
    }

    /// Reports the end; only the first report counts.
    func report(_ reason: CloseReason) {
        call.withLock { $0.take() }?(reason)
    }

    /// Reports nothing from now on.
    func forget() {
        // Released without the lock.
        let call = call.withLock { $0.take() }
        withExtendedLifetime(call) {}
    }
}
