internal import FrameTransport
internal import Locking

/// One wait for a socket, on a thread that lives as long as the wait.
///
/// It needs no descriptor of its own, so that a peer goes on while a test has the process run out of them. So nothing
/// can wake its `poll`, which looks every 20 ms whether the wait is still wanted.
final class SocketWait: Sendable {
    private struct State: ~Copyable {
        var isCancelled = false
        // Behind the lock too: the thread sanitizer does not always see that a continuation hands a value over.
        var outcome: Result<Void, PeerError> = .success(())
    }

    private let descriptor: Int32
    private let events: Int16
    private let isOver: @Sendable () -> Bool
    private let state = Locked(State())

    /// Creates a wait for one of `events`, or until `isOver`.
    init(_ descriptor: Int32, for events: Int16, isOver: @escaping @Sendable () -> Bool) {
        (self.descriptor, self.events, self.isOver) = (descriptor, events, isOver)
    }

    /// Waits.
    ///
    /// - Throws: `cancelled`, or `system` if no thread can be made.
    func value() async throws(PeerError) {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                do throws(Errno) {
                    _ = try SystemThread(named: "peer") {
                        self.run()
                        continuation.resume()
                    }
                } catch {
                    finish(
                        .failure(
                            PeerError(.system, underlyingErrno: error.rawValue, "cannot create a thread to wait on")
                        )
                    )
                    continuation.resume()
                }
            }
        } onCancel: {
            state.withLock { $0.isCancelled = true }
        }
        try state.withLock { state throws(PeerError) in try state.outcome.get() }
    }

    private func run() {
        do throws(PeerError) {
            while !isOver() {
                if state.withLock({ $0.isCancelled }) { throw PeerError(.cancelled, "the task was cancelled") }
                if try SocketCalls.poll(descriptor, for: events, timeout: 20) { return }
            }
        } catch {
            finish(.failure(error))
        }
    }

    private func finish(_ outcome: Result<Void, PeerError>) {
        state.withLock { $0.outcome = outcome }
    }
}
