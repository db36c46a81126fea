internal import Locking

/// The unread messages of a departed sender, as counted by the memory budget: from its end until they are consumed, are
/// dropped, or can no longer be consumed.
final class UnreadMessages: Sendable {
    private enum State {
        /// The connection lasts.
        case connected
        /// The budget keeps the messages, under this number.
        case kept(UInt64, isEmpty: @Sendable () -> Bool)
        /// There is nothing to keep.
        case released
    }

    private let memory: FrameServer.MemoryBudget
    private let state = Locked(State.connected)

    init(_ memory: FrameServer.MemoryBudget) {
        self.memory = memory
    }

    /// Handles the end of the connection, which leaves the given number of bytes.
    ///
    /// - Parameters:
    ///   - byteCount: The size of the messages.
    ///   - isEmpty: Returns whether every message has been consumed.
    ///   - drop: Discards the messages; called at once if the budget has no room for them, or later if their memory is
    ///     needed.
    func keep(_ byteCount: Int, isEmpty: @escaping @Sendable () -> Bool, drop: @escaping @Sendable () -> Void) {
        guard byteCount > 0 else { return state.withLock { $0 = .released } }
        guard let id = memory.depart(byteCount, onEviction: drop) else {
            state.withLock { $0 = .released }
            return drop()
        }
        let isReleased = state.withLock { state in
            guard case .connected = state else { return true }
            state = .kept(id, isEmpty: isEmpty)
            return false
        }
        if isReleased { return memory.forget(id) }
        // The last message may have been consumed meanwhile.
        consumed()
    }

    /// Handles the consumption of the last message of a kind.
    func consumed() {
        let isEmpty = state.withLock { state -> (@Sendable () -> Bool)? in
            if case .kept(_, let isEmpty) = state { return isEmpty }
            return nil
        }
        if let isEmpty, isEmpty() { release() }
    }

    /// Releases the messages, which can no longer be consumed, or have all been consumed.
    func release() {
        let id = state.withLock { state -> UInt64? in
            defer { state = .released }
            if case .kept(let id, _) = state { return id }
            return nil
        }
        if let id { memory.forget(id) }
    }
}
