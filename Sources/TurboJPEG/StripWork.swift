internal import Dispatch
internal import Synchronization

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#elseif canImport(Darwin)
    internal import Darwin
#endif

/// Work on the parts of a picture, on the cores there are.
enum StripWork {
    /// How many cores there are, as the system said when it was first asked.
    static let coreCount = max(1, Int(sysconf(Int32(_SC_NPROCESSORS_ONLN))))

    /// Calls the body for each item, on at most so many threads, the caller's among them, and returns when all are done.
    ///
    /// Each thread takes the next item that nobody has taken, so that one that comes late holds nobody up.
    static func forEach<Item: Sendable>(_ items: inout [Item], threads: Int, _ body: @Sendable (inout Item) -> Void) {
        let workers = min(threads, items.count)
        guard workers > 1 else {
            for index in items.indices { body(&items[index]) }
            return
        }
        let turn = Turn()
        unsafe items.withUnsafeMutableBufferPointer { items in
            // Nobody else has the item whose number a thread has taken.
            nonisolated(unsafe) let items = unsafe items
            DispatchQueue.concurrentPerform(iterations: workers) { _ in
                while true {
                    let index = turn.next()
                    guard unsafe index < items.count else { return }
                    unsafe body(&items[index])
                }
            }
        }
    }

    /// The numbers from 0, each given out once.
    private final class Turn: Sendable {
        private let taken = Atomic(0)

        func next() -> Int {
            taken.wrappingAdd(1, ordering: .relaxed).oldValue
        }
    }
}
