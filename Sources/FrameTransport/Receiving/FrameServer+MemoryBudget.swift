internal import Locking

extension FrameServer {
    /// A limit on the memory of messages being received, shared by connections.
    ///
    /// A body is admitted whole when its header has been read, or its connection is not read until there is room. Bodies of
    /// up to 1 MiB are admitted at once. Larger ones share half of the budget, in the order in which they come, once the
    /// program has taken their connections. An admitted body ends with its sender, or at its deadline. Once complete, it
    /// counts until the program takes the frame or the sender has gone. A program that takes a connection and never consumes
    /// its frames may therefore hold up larger bodies for as long as the sender stays, but never frames of the usual size.
    ///
    /// The other half is divided among the places of all servers that share the budget, among eight at least: every
    /// connection has room there for two usual bodies, and for audio. With more than 112 places in all, the default budget
    /// has less than 1 MiB for each body.
    ///
    /// Frames of departed senders are kept in the space that larger bodies leave free; when that space is needed they are
    /// dropped, oldest first. Memory that senders share is counted apart, up to half of the budget; if there is no room for
    /// it, connections fall back to JPEGs.
    ///
    /// Bodies count with the sizes that their senders state. They are received into blocks of powers of two, so that up to
    /// twice as much address space may be in use; the system has memory for what has arrived.
    ///
    /// Thread safety: any thread may use a budget at any time, and servers may share it.
    public final class MemoryBudget: Sendable {
        /// The default budget: 512 MiB.
        public static let shared = MemoryBudget(maximumBytes: 512 << 20)

        /// What one connection has of a budget.
        final class Account: Sendable {
            private let budget: MemoryBudget
            private let id: UInt64
            /// What it has as long as it lasts.
            let part: BudgetMachine.Part

            fileprivate init(_ budget: MemoryBudget, _ id: UInt64, _ part: BudgetMachine.Part) {
                (self.budget, self.id, self.part) = (budget, id, part)
            }

            /// Admits a body; if this returns false, it waits, and `onAdmission` is called when this is to be called again.
            func admit(_ bytes: Int) -> Bool {
                budget.change { machine in machine.admit(bytes, for: id) }
            }

            /// Withdraws the body that waits.
            func withdraw() {
                budget.change { machine in ((), machine.withdraw(id)) }
            }

            /// Releases an admitted body.
            func release(_ bytes: Int) {
                budget.change { machine in ((), machine.release(bytes, of: id)) }
            }

            /// Ends the connection; `onDrop` is called, perhaps at once, if what it leaves unread must be dropped.
            func depart(leaving bytes: Int) {
                budget.change { machine in ((), machine.depart(id, leaving: bytes)) }
                if bytes == 0 { budget.remove(id) }
            }

            /// Forgets the departed sender, of which nothing is left to be taken.
            func forget() {
                budget.change { machine in ((), machine.forget(id)) }
                budget.remove(id)
            }
        }

        private struct Party {
            let onAdmission: @Sendable () -> Void
            let onDrop: @Sendable () -> Void
        }

        /// The maximum number of bytes.
        public let maximumBytes: Int

        private let state: Locked<(machine: BudgetMachine, parties: [UInt64: Party])>

        /// Creates a budget of at most `maximumBytes` bytes; a negative number counts as 0, with which nothing is received.
        public init(maximumBytes: Int) {
            self.maximumBytes = max(0, maximumBytes)
            state = Locked((BudgetMachine(bytes: self.maximumBytes), [:]))
        }

        /// The size of the largest body that can be received.
        var largestBody: Int { maximumBytes / 2 }

        /// The number of bytes free for larger bodies and for frames of departed senders.
        package var free: Int { state.withLock { $0.machine.free } }

        /// The number of bytes of shared memory.
        package var mappedBytes: Int { state.withLock { $0.machine.mappedBytes } }

        /// Adds the places for connections of a server that starts to listen.
        func open(places: Int) { state.withLock { $0.machine.open(places: places) } }

        /// Removes the places of a server that no longer listens.
        func close(places: Int) { state.withLock { $0.machine.close(places: places) } }

        /// Adds a connection.
        ///
        /// - Parameters:
        ///   - onAdmission: Called from any thread when a body that waited may be admitted.
        ///   - onDrop: Called at most once, from any thread, if what the connection has left must be dropped.
        /// - Returns: What the connection has of the budget.
        func join(onAdmission: @escaping @Sendable () -> Void, onDrop: @escaping @Sendable () -> Void) -> Account {
            state.withLock { state in
                let (id, part) = state.machine.join()
                state.parties[id] = Party(onAdmission: onAdmission, onDrop: onDrop)
                return Account(self, id, part)
            }
        }

        private func remove(_ id: UInt64) {
            // Released outside the lock.
            _ = state.withLock { $0.parties.removeValue(forKey: id) }
        }

        /// Counts memory that a sender shares, if there is room for it.
        func map(_ bytes: Int) -> Bool { state.withLock { $0.machine.map(bytes) } }

        /// Takes back memory that is no longer shared.
        func unmap(_ bytes: Int) { state.withLock { $0.machine.unmap(bytes) } }

        /// Makes a change, and calls the affected connections outside the lock: they may come back at once.
        private func change<Result>(
            _ change: (inout BudgetMachine) -> (Result, notices: [BudgetMachine.Notice])
        ) -> Result {
            let (result, calls) = state.withLock { state in
                let (result, notices) = change(&state.machine)
                let calls = notices.compactMap { notice in
                    switch notice {
                    case .admitted(let id): state.parties[id]?.onAdmission
                    case .dropped(let id): state.parties.removeValue(forKey: id)?.onDrop
                    }
                }
                return (result, calls)
            }
            for call in calls { call() }
            return result
        }
    }
}
