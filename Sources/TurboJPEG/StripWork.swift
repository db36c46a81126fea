internal import Dispatch
internal import Synchronization

/// Work on the parts of a picture, on the cores there are.
enum StripWork {
    /// Calls the body for each item, on at most so many threads, the caller's among them, and returns when all are done.
    static func forEach<Item: Sendable>(_ items: inout [Item], threads: Int, _ body: @Sendable (inout Item) -> Void) {
        share(&items, threads: threads) { items in
            while let index = items.next() { items.withItem(index, body) }
        }
    }

    /// Calls the body once on each of at most so many threads, the caller's among them, and returns when all are done.
    ///
    /// Each thread takes the next item that nobody has taken, so that one that comes late holds nobody up.
    static func share<Item: Sendable>(
        _ items: inout [Item],
        threads: Int,
        _ body: @Sendable (SharedItems<Item>) -> Void
    ) {
        let workers = min(threads, items.count)
        unsafe items.withUnsafeMutableBufferPointer { items in
            let shared = unsafe SharedItems(items)
            guard workers > 1 else { return body(shared) }
            DispatchQueue.concurrentPerform(iterations: workers) { _ in body(shared) }
        }
    }
}

/// Items that several threads divide among themselves, for as long as the call that shares them.
///
/// Sendable: nobody else has the item whose number a thread has taken.
@safe final class SharedItems<Item: Sendable>: @unchecked Sendable {
    private let items: UnsafeMutableBufferPointer<Item>
    private let taken = Atomic(0)

    fileprivate init(_ items: UnsafeMutableBufferPointer<Item>) {
        unsafe self.items = unsafe items
    }

    /// The number of an item that nobody has taken, in ascending order; nil if there are no more.
    func next() -> Int? {
        let index = taken.wrappingAdd(1, ordering: .relaxed).oldValue
        return unsafe index < items.count ? index : nil
    }

    /// Calls the body with an item that this thread has taken.
    func withItem<Result>(_ index: Int, _ body: (inout Item) -> Result) -> Result {
        unsafe body(&items[index])
    }
}
