internal import Locking

/// Counts the consecutive frames of a connection that could not be decoded.
package final class DecodingTally: Sendable {
    private struct State {
        var failures = 0
        /// The latest frame that failed: several readers may report the same ones, one reader after the other.
        var lastFailure = -1
    }

    private let limit: Int
    private let onFailure: @Sendable (_ index: Int) -> Void
    private let onLimit: @Sendable () -> Void
    private let state = Locked(State())

    /// Creates a tally that calls `onFailure` for every frame that fails, and `onLimit` after `limit` consecutive ones.
    init(
        limit: Int,
        onFailure: @escaping @Sendable (_ index: Int) -> Void = { _ in },
        onLimit: @escaping @Sendable () -> Void
    ) {
        self.limit = max(1, limit)
        self.onFailure = onFailure
        self.onLimit = onLimit
    }

    func note(frame index: Int, isDecoded: Bool) {
        let failures: Int? = state.withLock { state in
            guard !isDecoded else {
                // One reader may decode an old frame after another has failed at newer ones.
                if index > state.lastFailure { state.failures = 0 }
                return nil
            }
            guard index > state.lastFailure else { return nil }
            state.lastFailure = index
            state.failures += 1
            return state.failures
        }
        guard let failures else { return }
        onFailure(index)
        if failures == limit { onLimit() }
    }
}
