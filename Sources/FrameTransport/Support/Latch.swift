internal import Locking

/// A value that is set once, and for which any number of tasks may wait.
///
/// Every wait for one thing is for a latch; every wait for one thing after another is for a ``Mailbox``.
package final class Latch<Value: Sendable>: Sendable {
    private struct State {
        var value: Value?
        /// Few at a time.
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Locked(State())
    private let hasValue = Locked(false)

    package init() {}

    /// The value, once it is set.
    package var value: Value? { state.withLock { $0.value } }

    /// Whether the value is set: what programs look at for every frame, without generic code that another module calls.
    package var isSet: Bool { hasValue.withLock { $0 } }

    /// The number of tasks that are waiting.
    package var waiterCount: Int { state.withLock { $0.waiters.count } }

    /// Sets the value; the first call counts, and returns true.
    @discardableResult
    package func set(_ value: Value) -> Bool {
        let isFirst = state.withLock { state in
            guard state.value == nil else { return false }
            state.value = value
            hasValue.withLock { $0 = true }
            return true
        }
        if isFirst { wakeWaiters() }
        return isFirst
    }

    /// Waits until the value is set, or the calling task is cancelled.
    ///
    /// - Throws: `cancelled`, at once, if the task is cancelled before the value is set.
    package func value() async throws(TransportError) -> Value {
        await withTaskCancellationHandler {
            while value == nil, !Task.isCancelled { await suspend(isolation: nil, endsIfCancelled: true) }
        } onCancel: {
            // The others look, and wait again.
            wakeWaiters()
        }
        // The value is passed through the lock, which a thread sanitizer sees, and not through the continuation.
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
                await suspend(isolation: isolation, endsIfCancelled: false)
            }
        } onCancel: {
            cancel()
        }
    }

    /// Suspends the caller until it is to look again, unless the value is set or its cancellation ends the wait.
    private func suspend(isolation: isolated (any Actor)?, endsIfCancelled: Bool) async {
        await withCheckedContinuation(isolation: isolation) { continuation in
            let isOver = state.withLock { state in
                // A task that is cancelled after this finds its continuation among the waiters.
                if state.value != nil || endsIfCancelled && Task.isCancelled { return true }
                state.waiters.append(continuation)
                return false
            }
            if isOver { continuation.resume() }
        }
    }

    private func wakeWaiters() {
        let waiters = state.withLock { state in
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.resume() }
    }
}
