internal import Dispatch
internal import Synchronization

/// Work on the parts of a picture, on the cores there are.
enum StripWork {
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
