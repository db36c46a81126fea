internal import Locking

/// How much memory messages may take while they are received, over all connections that share the budget.
///
/// A half is for all connections alike: each may receive, without asking, bodies of up to its share, two at a time. A body
/// that is larger is begun only when the other half has room for the whole of it, in the order of asking, and its
/// connection is not read until then. So large bodies wait for each other and never for ever, as one that was begun needs
/// nothing more; and whatever they do, frames of a usual size are not held up.
///
/// A frame counts until the consumer has taken it.
public final class MemoryBudget: Sendable {
    /// The budget that is used where none is named: 512 MiB.
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
            budget.giveBack(bytes)
        }
    }

    /// What became of a request.
    enum Answer {
        case granted(Grant)
        /// It waits, under this number.
        case waiting(UInt64)
    }

    private struct Waiter {
        let id: UInt64
        let bytes: Int
        let onGrant: @Sendable (Grant) -> Void
    }

    private struct State {
        var free: Int
        var waiters: [Waiter] = []
        var lastWaiter: UInt64 = 0
    }

    /// The bytes of all bodies together.
    public let bytes: Int

    private let state: Locked<State>

    /// Makes a budget of so many bytes.
    public init(bytes: Int) {
        self.bytes = max(0, bytes)
        state = Locked(State(free: self.bytes / 2))
    }

    /// The largest body that can ever be received.
    var largestGrant: Int { bytes / 2 }

    /// How many bytes large bodies may take at this moment.
    package var free: Int { state.withLock { $0.free } }

    /// The bytes of a body that needs no grant, where so many connections may be.
    func share(ofConnections connections: Int) -> Int {
        // Half of the budget, and two bodies for each connection.
        bytes / 2 / 2 / max(1, min(connections, 1 << 20))
    }

    /// Asks for a part of the budget.
    ///
    /// - Parameters:
    ///   - bytes: how much, at most ``largestGrant``.
    ///   - onGrant: called later, from any thread, where others are first or there is not so much yet.
    /// - Returns: the part, or the number under which the request waits.
    func ask(_ bytes: Int, onGrant: @escaping @Sendable (Grant) -> Void) -> Answer {
        state.withLock { state in
            guard state.waiters.isEmpty, state.free >= bytes else {
                state.lastWaiter += 1
                state.waiters.append(Waiter(id: state.lastWaiter, bytes: bytes, onGrant: onGrant))
                return .waiting(state.lastWaiter)
            }
            state.free -= bytes
            return .granted(Grant(self, bytes: bytes))
        }
    }

    /// Takes back a request that waits.
    func withdraw(_ id: UInt64) {
        state.withLock { $0.waiters.removeAll { $0.id == id } }
        // Those behind it may have been waiting for nothing else.
        giveBack(0)
    }

    private func giveBack(_ bytes: Int) {
        let served = state.withLock { state in
            state.free += bytes
            var served: [(waiter: Waiter, grant: Grant)] = []
            while let first = state.waiters.first, first.bytes <= state.free {
                state.free -= first.bytes
                served.append((state.waiters.removeFirst(), Grant(self, bytes: first.bytes)))
            }
            return served
        }
        for (waiter, grant) in served { waiter.onGrant(grant) }
    }
}
