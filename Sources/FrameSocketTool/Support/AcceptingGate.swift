import Dispatch
import FrameSocket
import Locking

/// Keeps a server that listens from accepting anybody until everything that its connections need is ready.
///
/// Who connects meanwhile waits in the socket's backlog.
final class AcceptingGate: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)
    private let hasOpened = Locked(false)

    /// Whether the server accepts connections.
    var isOpen: Bool { hasOpened.withLock { $0 } }

    /// Holds the thread of servers that do not exist yet, since a server begins to accept on its thread.
    func hold(_ thread: IOThread) {
        Task(preferring: thread) { [self] in wait() }
    }

    private func wait() { semaphore.wait() }

    /// Lets the server accept connections; to be called once.
    func open() {
        hasOpened.withLock { $0 = true }
        semaphore.signal()
    }
}
