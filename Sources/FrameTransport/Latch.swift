internal import Locking

/// A value that is set once, and for which any number of tasks may wait.
final class Latch<Value: Sendable>: Sendable {
    private struct State {
        var value: Value?
        var waiters: [UInt64: CheckedContinuation<Void, Never>] = [:]
        /// The waiters that were cancelled before they began to wait.
        var cancelled: Set<UInt64> = []
        var lastWaiter: UInt64 = 0
    }

    private let state = Locked(State())

    /// The value, once it is set.
    var value: Value? { state.withLock { $0.value } }

    /// The number of tasks that are waiting.
    package var waiterCount: Int { state.withLock { $0.waiters.count } }

    /// Sets the value; the first call counts, and returns true.
    @discardableResult
    func set(_ value: Value) -> Bool {
        let waiters = state.withLock { state -> [UInt64: CheckedContinuation<Void, Never>]? in
            guard state.value == nil else { return nil }
            state.value = value
            defer { state.waiters = [:] }
            return state.waiters
        }
        guard let waiters else { return false }
        for waiter in waiters.values { waiter.resume() }
        return true
    }

    /// Waits until the value is set, or the calling task is cancelled.
    ///
    /// - Throws: `cancelled`, at once, if the task is cancelled before the value is set.
    func value() async throws(TransportError) -> Value {
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
                    state.waiters[id] = continuation
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            let waiter = state.withLock { state -> CheckedContinuation<Void, Never>? in
                if let waiter = state.waiters.removeValue(forKey: id) { return waiter }
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

    /// Waits until the value is set, even if the calling task is cancelled.
    func wait() async -> Value {
        while true {
            if let value { return value }
            await withCheckedContinuation { continuation in
                let isSet = state.withLock { state in
                    guard state.value == nil else { return true }
                    state.lastWaiter += 1
                    state.waiters[state.lastWaiter] = continuation
                    return false
                }
                if isSet { continuation.resume() }
            }
        }
    }
}
