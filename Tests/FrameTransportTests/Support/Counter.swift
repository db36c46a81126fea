import Synchronization

/// A number that several threads count up.
final class Counter: Sendable {
    private let count = Atomic(0)

    /// The number.
    var value: Int { count.load(ordering: .sequentiallyConsistent) }

    /// Counts one up.
    func increment() {
        count.add(1, ordering: .sequentiallyConsistent)
    }
}
