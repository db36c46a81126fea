internal import Locking

/// How much memory messages may take while they are received, over all connections that share the budget.
///
/// A half is for all connections alike: each may receive, without asking, bodies of up to its share, two at a time. A body
/// that is larger is begun only when the other half has room for the whole of it, in the order of asking, and its
/// connection is not read until then. So large bodies wait for each other and never forever, since one that was begun needs
/// nothing more; and whatever they do, frames of a usual size are not held up.
///
/// A frame counts until the consumer has taken it. Frames whose sender has gone are kept in the room that large bodies
/// leave: when that is needed they give way, oldest first.
public final class MemoryBudget: Sendable {
    /// The budget that is used if none is named: 512 MiB.
    public static let shared = MemoryBudget(bytes: 512 << 20)

    /// A part of the budget, given back when its last holder lets go.
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

    /// What became of a request.
    enum Answer {
        case granted(Grant)
        /// It waits, under this number.
        case waiting(UInt64)
    }

    private struct State {
        var machine: BudgetMachine
        var onGrant: [UInt64: (bytes: Int, call: @Sendable (Grant) -> Void)] = [:]
        var onEviction: [UInt64: @Sendable () -> Void] = [:]
    }

    /// The bytes of all bodies together.
    public let bytes: Int

    private let state: Locked<State>

    /// Makes a budget of so many bytes.
    public init(bytes: Int) {
        self.bytes = max(0, bytes)
        state = Locked(State(machine: BudgetMachine(bytes: self.bytes)))
    }

    /// The largest body that can ever be received.
    var largestGrant: Int { bytes / 2 }

    /// How many bytes large bodies, and the frames of departed senders, may still take.
    package var free: Int { state.withLock { $0.machine.free } }

    /// What the frames of departed senders take.
    package var departedBytes: Int { state.withLock { $0.machine.departedBytes } }

    /// The bytes that a connection may take without asking, if so many may be connected.
    func allowance(ofConnections connections: Int) -> Int {
        BudgetMachine.allowance(of: bytes, connections: connections)
    }

    /// Gives a new connection its allowance, to be given back with ``leave(_:)``.
    func join(ofConnections connections: Int) -> Int {
        state.withLock { $0.machine.join(connections: connections) }
    }

    /// Takes back the allowance of a connection that has ended.
    func leave(_ allowance: Int) {
        state.withLock { $0.machine.leave(allowance) }
    }

    /// Asks for a part of the budget.
    ///
    /// - Parameters:
    ///   - bytes: How much, at most ``largestGrant``.
    ///   - onGrant: Called later, from any thread, if others are first or there is not so much yet.
    /// - Returns: The part, or the number under which the request waits.
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

    /// Takes back a request that waits.
    func withdraw(_ id: UInt64) {
        change { state in
            state.onGrant[id] = nil
            return state.machine.withdraw(id)
        }
    }

    /// Keeps the unread frames of a sender that has gone.
    ///
    /// - Parameters:
    ///   - bytes: What they take.
    ///   - onEviction: Called once, from any thread, if they have to give way later.
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

    /// Makes a change, and calls whom it concerns behind the lock: they may ask again.
    private func change(_ change: (inout State) -> BudgetMachine.Effects) {
        let calls = state.withLock { state in
            let effects = change(&state)
            return follow(effects, &state)
        }
        for call in calls { call() }
    }

    /// What is to be called for a change that the machine has made.
    private func follow(_ effects: BudgetMachine.Effects, _ state: inout State) -> [() -> Void] {
        var calls: [() -> Void] = []
        for id in effects.evicted {
            if let onEviction = state.onEviction.removeValue(forKey: id) { calls.append(onEviction) }
        }
        for id in effects.granted {
            guard let (bytes, call) = state.onGrant.removeValue(forKey: id) else { continue }
            calls.append { call(Grant(self, bytes: bytes)) }
        }
        return calls
    }
}
