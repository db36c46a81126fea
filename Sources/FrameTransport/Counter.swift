internal import Synchronization

/// A number that any thread may count up and read.
final class Counter: Sendable {
    private let count = Atomic(0)

    var value: Int { count.load(ordering: .relaxed) }

    func increment() {
        count.wrappingAdd(1, ordering: .relaxed)
    }

    /// Counts up, and returns the new number, which no other call returns.
    func next() -> Int {
        count.wrappingAdd(1, ordering: .relaxed).newValue
    }
}
