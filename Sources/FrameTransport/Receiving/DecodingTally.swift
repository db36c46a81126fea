internal import Locking

/// Counts the consecutive frames of a connection that could not be decoded.
package final class DecodingTally: Sendable {
    private struct State {
        var failures = 0
        /// The latest frame that failed: several readers may report the same ones, one reader after the other.
        var lastFailure = -1
    }

    private let limit: Int
    private let onLimit: @Sendable () -> Void
    private let state = Locked(State())

    /// Creates a tally that calls `onLimit` after `limit` consecutive failures.
    init(limit: Int, onLimit: @escaping @Sendable () -> Void) {
        self.limit = max(1, limit)
        self.onLimit = onLimit
    }

    func note(frame index: Int, isDecoded: Bool) {
        let isOver = state.withLock { state in
            guard !isDecoded else {
                // One reader may decode an old frame after another has failed at newer ones.
                if index > state.lastFailure { state.failures = 0 }
                return false
            }
            guard index > state.lastFailure else { return false }
            state.lastFailure = index
            state.failures += 1
            return state.failures == limit
        }
        if isOver { onLimit() }
    }
}
