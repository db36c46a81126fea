internal import Locking

/// A value that is set once, and for which any number of tasks may wait.
///
/// Every wait for one thing is for a latch; every wait for one thing after another is for a ``Mailbox``.
package final class Latch<Value: Sendable>: Sendable {
    private struct State {
        var value: Value?
        /// Few at a time.
        var waiters: [(id: UInt64, continuation: CheckedContinuation<Void, Never>)] = []
        /// The waiters that were cancelled before they began to wait.
        var cancelled: Set<UInt64> = []
        var lastWaiter: UInt64 = 0
    }

    private let state = Locked(State())

    package init() {}

    /// The value, once it is set.
    package var value: Value? { state.withLock { $0.value } }

    /// The number of tasks that are waiting.
    package var waiterCount: Int { state.withLock { $0.waiters.count } }

    /// Sets the value; the first call counts, and returns true.
    @discardableResult
    package func set(_ value: Value) -> Bool {
        let waiters = state.withLock { state -> [(id: UInt64, continuation: CheckedContinuation<Void, Never>)]? in
            guard state.value == nil else { return nil }
            state.value = value
            defer { state.waiters = [] }
            return state.waiters
        }
        guard let waiters else { return false }
        for waiter in waiters { waiter.continuation.resume() }
        return true
    }

    /// Waits until the value is set, or the calling task is cancelled.
    ///
    /// - Throws: `cancelled`, at once, if the task is cancelled before the value is set.
    package func value() async throws(TransportError) -> Value {
        // The value is passed through the lock, which a thread sanitizer sees, and not through the continuation.
        if let value { return value }
        let id = state.withLock { state in
            state.lastWaiter += 1
            return state.lastWaiter
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver = state.withLock { state in
                    if state.value != nil || state.cancelled.remove(id) != nil { return true }
                    state.waiters.append((id, continuation))
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            let waiter = state.withLock { state -> CheckedContinuation<Void, Never>? in
                if let index = state.waiters.firstIndex(where: { $0.id == id }) {
                    return state.waiters.remove(at: index).continuation
                }
                if state.value == nil { state.cancelled.insert(id) }
                return nil
            }
            waiter?.resume()
        }
        let value = state.withLock { state in
            state.cancelled.remove(id)
            return state.value
        }
        guard let value else { throw TransportError(.cancelled, "waiting was cancelled") }
        return value
    }

    /// Waits until the value is set, even if the calling task is cancelled, without leaving the caller's actor.
    ///
    /// - Parameters:
    ///   - isolation: The caller's actor.
    ///   - cancel: Called, from any thread, if the calling task is cancelled meanwhile, to have the value set soon.
    /// - Returns: The value.
    package func wait(
        isolation: isolated (any Actor)? = #isolation,
        onCancel cancel: @Sendable () -> Void = {}
    ) async -> Value {
        await withTaskCancellationHandler {
            while true {
                if let value { return value }
                // Captured, so that this closure is isolated to the actor.
                _ = isolation
                await withCheckedContinuation(isolation: isolation) { continuation in
                    let isSet = state.withLock { state in
                        guard state.value == nil else { return true }
                        state.lastWaiter += 1
                        state.waiters.append((state.lastWaiter, continuation))
                        return false
                    }
                    if isSet { continuation.resume() }
                }
            }
        } onCancel: {
            cancel()
        }
    }
}
