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

        typealias Machine = BudgetMachine<WeakReference<ReceivingDriver>>

        /// The maximum number of bytes.
        public let maximumBytes: Int

        private let machine: Locked<Machine>

        /// Creates a budget of at most `maximumBytes` bytes; a negative number counts as 0, with which nothing is received.
        public init(maximumBytes: Int) {
            self.maximumBytes = max(0, maximumBytes)
            machine = Locked(Machine(bytes: self.maximumBytes))
        }

        /// The size of the largest body that can be received.
        var largestBody: Int { maximumBytes / 2 }

        /// The number of bytes free for larger bodies and for frames of departed senders.
        package var free: Int { machine.withLock { $0.free } }

        /// The number of bytes of shared memory.
        package var mappedBytes: Int { machine.withLock { $0.mappedBytes } }

        /// Makes a change, and tells the affected connections outside the lock: they may come back at once.
        func change<Result>(_ change: (inout Machine) -> Result) -> Result {
            let (result, notices) = machine.withLock { (change(&$0), $0.takeNotices()) }
            for notice in notices {
                switch notice {
                case .admitted(let connection): connection.object?.report { $0.memoryAvailable($1) }
                case .dropped(let connection): connection.object?.dropUnread()
                }
            }
            return result
        }
    }
}
