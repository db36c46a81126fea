internal import Locking

/// A value that is set once, and that any number of tasks may wait for.
final class Latch<Value: Sendable>: Sendable {
    private struct State {
        var value: Value?
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Locked(State())

    /// The value, once it is set.
    var value: Value? { state.withLock { $0.value } }

    /// Sets the value; the first call counts, and returns true.
    @discardableResult
    func set(_ value: Value) -> Bool {
        let waiters = state.withLock { state -> [CheckedContinuation<Void, Never>]? in
            guard state.value == nil else { return nil }
            state.value = value
            defer { state.waiters = [] }
            return state.waiters
        }
        guard let waiters = waiters else { return false }
        for waiter in waiters { waiter.resume() }
        return true
    }

    /// Waits until the value is set.
    func wait() async -> Value {
        // The value goes by way of the lock, which a thread sanitizer sees, and not of the continuation.
        while true {
            if let value { return value }
            await withCheckedContinuation { continuation in
                let isSet = state.withLock { state in
                    if state.value == nil { state.waiters.append(continuation) }
                    return state.value != nil
                }
                if isSet { continuation.resume() }
            }
        }
    }
}
