internal import Dispatch
internal import Locking

/// Work on the parts of an image, divided among the available cores.
enum StripWork {
    /// Calls a closure for each item on at most `threads` threads, including the caller's; returns when all are done.
    static func forEach<Item: Sendable>(_ items: inout [Item], threads: Int, _ body: @Sendable (inout Item) -> Void) {
        share(&items, threads: threads) { items in
            while let index = items.next() { items.withItem(index, body) }
        }
    }

    /// Calls a closure once on each of at most `threads` threads, including the caller's; returns when all are done.
    ///
    /// Each thread takes the next free item, so that one that starts late delays nobody.
    ///
    /// - Parameters:
    ///   - items: The items.
    ///   - chosen: The indices of the items to share, in ascending order; nil for all.
    ///   - threads: The maximum number of threads.
    ///   - body: The closure.
    static func share<Item: Sendable>(
        _ items: inout [Item],
        _ chosen: [Int]? = nil,
        threads: Int,
        _ body: @Sendable (SharedItems<Item>) -> Void
    ) {
        let workers = min(threads, chosen?.count ?? items.count)
        guard workers > 0 else { return }
        unsafe items.withUnsafeMutableBufferPointer { items in
            let shared = unsafe SharedItems(items, chosen)
            guard workers > 1 else { return body(shared) }
            DispatchQueue.concurrentPerform(iterations: workers) { _ in body(shared) }
        }
    }
}

/// Items that several threads divide among themselves, for the duration of the call that shares them.
///
/// Sendable: only the thread that has taken an item's index accesses the item.
@safe final class SharedItems<Item: Sendable>: @unchecked Sendable {
    private let items: UnsafeMutableBufferPointer<Item>
    private let chosen: [Int]?
    private let taken = Locked(0)

    fileprivate init(_ items: UnsafeMutableBufferPointer<Item>, _ chosen: [Int]?) {
        unsafe self.items = unsafe items
        self.chosen = chosen
    }

    /// Returns the index of an item that nobody has taken, in ascending order; nil if there are no more.
    func next() -> Int? {
        let index = taken.withLock { taken in
            defer { taken += 1 }
            return taken
        }
        if let chosen { return index < chosen.count ? chosen[index] : nil }
        return unsafe index < items.count ? index : nil
    }

    /// Calls a closure with an item that this thread has taken.
    func withItem<Result>(_ index: Int, _ body: (inout Item) -> Result) -> Result {
        unsafe body(&items[index])
    }
}
