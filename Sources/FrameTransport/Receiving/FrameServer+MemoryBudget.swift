internal import Locking

extension FrameServer {
    /// A limit on the memory of messages being received, shared by connections.
    ///
    /// Half of the budget is divided among the places of all servers that share it, among eight at least: each connection
    /// may receive bodies of up to its share, two at a time, without a request. A larger body starts only when the program
    /// has taken its connection and the other half has room for all of it, in the order of the requests; until then its
    /// connection is not read. A body that has started needs nothing more: it ends with its sender, or at its deadline. Once
    /// complete, it keeps its part until the frame is consumed or the sender has gone. A program that takes a connection and
    /// never consumes its frames may therefore hold up large bodies for as long as the sender stays, but never frames of the
    /// usual size.
    ///
    /// A frame counts until the consumer has taken it. Frames of departed senders are kept in the space that large bodies
    /// leave free; when that space is needed they are dropped, oldest first. Memory that senders share is counted there too,
    /// as long as its connection uses it; when that space is needed, connections fall back to JPEGs.
    ///
    /// Bodies count with the sizes that their senders state. They are received into blocks of powers of two, so that up to
    /// twice as much address space may be in use; the system has memory for what has arrived.
    ///
    /// Thread safety: any thread may use a budget at any time, and servers may share it.
    public final class MemoryBudget: Sendable {
        /// The default budget: 512 MiB.
        public static let shared = MemoryBudget(maximumBytes: 512 << 20)

        /// The places for connections of a server that listens, removed when the last reference is released.
        final class Places: Sendable {
            private let budget: MemoryBudget
            private let count: Int

            fileprivate init(_ budget: MemoryBudget, _ count: Int) {
                self.budget = budget
                self.count = count
                budget.state.withLock { $0.machine.open(places: count) }
            }

            deinit {
                budget.state.withLock { $0.machine.close(places: count) }
            }
        }

        /// A part of the budget, returned when its last reference is released.
        final class Grant: Sendable {
            private let budget: MemoryBudget
            private let bytes: Int

            fileprivate init(_ budget: MemoryBudget, bytes: Int) {
                self.budget = budget
                self.bytes = bytes
            }

            deinit {
                budget.change { $0.machine.giveBack(bytes) }
            }
        }

        /// The part of the budget that a sender's shared memory takes, returned when its last reference is released.
        final class MappedGrant: Sendable {
            private let budget: MemoryBudget
            private let id: UInt64

            fileprivate init(_ budget: MemoryBudget, id: UInt64) {
                self.budget = budget
                self.id = id
            }

            deinit {
                budget.change { state in
                    state.onRevocation[id] = nil
                    return state.machine.unmap(id)
                }
            }
        }

        /// The outcome of a request.
        enum Answer {
            case granted(Grant)
            /// The request waits, under this number.
            case waiting(UInt64)
        }

        private struct State {
            var machine: BudgetMachine
            var onGrant: [UInt64: (bytes: Int, call: @Sendable (Grant) -> Void)] = [:]
            var onEviction: [UInt64: @Sendable () -> Void] = [:]
            var onRevocation: [UInt64: @Sendable () -> Void] = [:]
        }

        /// The maximum number of bytes.
        public let maximumBytes: Int

        private let state: Locked<State>

        /// Creates a budget of at most `maximumBytes` bytes; a negative number counts as 0, with which nothing is received.
        public init(maximumBytes: Int) {
            self.maximumBytes = max(0, maximumBytes)
            state = Locked(State(machine: BudgetMachine(bytes: self.maximumBytes)))
        }

        /// The size of the largest body that can be received.
        var largestGrant: Int { maximumBytes / 2 }

        /// The number of bytes free for large bodies and for frames of departed senders.
        package var free: Int { state.withLock { $0.machine.free } }

        /// The number of bytes of shared memory.
        package var mappedBytes: Int { state.withLock { $0.machine.mappedBytes } }

        /// The number of bytes taken by frames of departed senders.
        package var departedBytes: Int { state.withLock { $0.machine.departedBytes } }

        /// Adds the places for connections of a server that starts to listen.
        func open(places: Int) -> Places { Places(self, places) }

        /// Gives a new connection its allowance, to be returned with ``leave(_:)``.
        func join() -> Int {
            state.withLock { $0.machine.join() }
        }

        /// Takes back the allowance of a connection that has ended.
        func leave(_ allowance: Int) {
            state.withLock { $0.machine.leave(allowance) }
        }

        /// Requests a part of the budget.
        ///
        /// - Parameters:
        ///   - bytes: The number of bytes, at most ``largestGrant``.
        ///   - onGrant: Called later, from any thread, if earlier requests are waiting or there is not enough memory yet.
        /// - Returns: The grant, or the number under which the request waits.
        func ask(_ bytes: Int, onGrant: @escaping @Sendable (Grant) -> Void) -> Answer {
            var answer = BudgetMachine.Answer.granted
            change { state in
                let (given, effects) = state.machine.ask(bytes)
                answer = given
                if case .waiting(let id) = given { state.onGrant[id] = (bytes, onGrant) }
                return effects
            }
            switch answer {
            case .granted: return .granted(Grant(self, bytes: bytes))
            case .waiting(let id): return .waiting(id)
            }
        }

        /// Cancels a waiting request.
        func withdraw(_ id: UInt64) {
            change { state in
                state.onGrant[id] = nil
                return state.machine.withdraw(id)
            }
        }

        /// Keeps the unread frames of a departed sender.
        ///
        /// - Parameters:
        ///   - bytes: Their size.
        ///   - onEviction: Called once, from any thread, if they must be dropped later.
        /// - Returns: The number under which to ``forget(_:)`` them; nil if there is no room for them.
        func depart(_ bytes: Int, onEviction: @escaping @Sendable () -> Void) -> UInt64? {
            var kept: UInt64?
            change { state in
                let (id, effects) = state.machine.depart(bytes)
                if let id { state.onEviction[id] = onEviction }
                kept = id
                return effects
            }
            return kept
        }

        /// Forgets a departed sender whose frames have been consumed.
        func forget(_ id: UInt64) {
            change { state in
                state.onEviction[id] = nil
                return state.machine.forget(id)
            }
        }

        /// Counts memory that a sender shares.
        ///
        /// - Parameters:
        ///   - bytes: Its size.
        ///   - onRevocation: Called once, from any thread, if it must be given up because bodies need its part of the budget.
        /// - Returns: Its part of the budget; nil if there is no room for it.
        func map(_ bytes: Int, onRevocation: @escaping @Sendable () -> Void) -> MappedGrant? {
            var granted: UInt64?
            change { state in
                let (id, effects) = state.machine.map(bytes)
                if let id { state.onRevocation[id] = onRevocation }
                granted = id
                return effects
            }
            return granted.map { MappedGrant(self, id: $0) }
        }

        /// Makes a change, and calls the affected parties outside the lock: they may make new requests.
        private func change(_ change: (inout State) -> BudgetMachine.Effects) {
            let calls = state.withLock { state in
                let effects = change(&state)
                return follow(effects, &state)
            }
            for call in calls { call() }
        }

        /// Returns the calls that follow from a change of the machine.
        private func follow(_ effects: BudgetMachine.Effects, _ state: inout State) -> [() -> Void] {
            var calls: [() -> Void] = []
            for id in effects.evicted {
                if let onEviction = state.onEviction.removeValue(forKey: id) { calls.append(onEviction) }
            }
            for id in effects.revoked {
                if let onRevocation = state.onRevocation.removeValue(forKey: id) { calls.append(onRevocation) }
            }
            for id in effects.granted {
                guard let (bytes, call) = state.onGrant.removeValue(forKey: id) else { continue }
                calls.append { call(Grant(self, bytes: bytes)) }
            }
            return calls
        }
    }
}
