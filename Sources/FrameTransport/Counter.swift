internal import Synchronization

/// A counter that any thread may increment and read.
final class Counter: Sendable {
    private let count = Atomic(0)

    var value: Int {
        get { count.load(ordering: .relaxed) }
        set { count.store(newValue, ordering: .relaxed) }
    }

    func increment() {
        add(1)
    }

    func add(_ number: Int) {
        count.wrappingAdd(number, ordering: .relaxed)
    }

    /// Increments the counter, and returns the new value, which no other call returns.
    func next() -> Int {
        count.wrappingAdd(1, ordering: .relaxed).newValue
    }
}
