internal import Locking

/// A counter that any thread may increment and read.
final class Counter: Sendable {
    private let count = Locked(0)

    var value: Int {
        get { count.withLock { $0 } }
        set { count.withLock { $0 = newValue } }
    }

    func increment() {
        add(1)
    }

    func add(_ number: Int) {
        count.withLock { $0 &+= number }
    }

    /// Increments the counter, and returns the new value, which no other call returns.
    func next() -> Int {
        count.withLock { count in
            count &+= 1
            return count
        }
    }
}
