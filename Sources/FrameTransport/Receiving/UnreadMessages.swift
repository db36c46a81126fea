internal import Locking

/// What a sender that has gone left unread, as the memory budget counts it: from its end until it is consumed, has to give
/// way, or nobody can consume it any more.
final class UnreadMessages: Sendable {
    private enum State {
        /// The connection lasts.
        case connected
        /// The budget keeps what was left, under this number.
        case kept(UInt64, isEmpty: @Sendable () -> Bool)
        /// There is nothing to keep.
        case released
    }

    private let memory: MemoryBudget
    private let state = Locked(State.connected)

    init(_ memory: MemoryBudget) {
        self.memory = memory
    }

    /// The connection has ended, and left so many bytes.
    ///
    /// - Parameters:
    ///   - byteCount: What they take.
    ///   - isEmpty: Whether all of them have been consumed.
    ///   - drop: Throws them away; called at once if the budget has no room for them, or later if they have to give way.
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
        // The last may have been consumed meanwhile.
        consumed()
    }

    /// The last message of a kind has been consumed.
    func consumed() {
        let isEmpty = state.withLock { state -> (@Sendable () -> Bool)? in
            if case .kept(_, let isEmpty) = state { return isEmpty }
            return nil
        }
        if let isEmpty, isEmpty() { release() }
    }

    /// Nobody can consume what was left, or all of it has been consumed.
    func release() {
        let id = state.withLock { state -> UInt64? in
            defer { state = .released }
            if case .kept(let id, _) = state { return id }
            return nil
        }
        if let id { memory.forget(id) }
    }
}
