internal import Synchronization

/// A counter that any thread may increment and read.
final class Counter: Sendable {
    private let count = Atomic(0)

    var value: Int { count.load(ordering: .relaxed) }

    func increment() {
        count.wrappingAdd(1, ordering: .relaxed)
    }

    /// Increments the counter, and returns the new value, which no other call returns.
    func next() -> Int {
        count.wrappingAdd(1, ordering: .relaxed).newValue
    }
}
