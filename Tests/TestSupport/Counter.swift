import Synchronization

/// A number that several threads count up.
package final class Counter: Sendable {
    private let count = Atomic(0)

    package init() {}

    /// The number.
    package var value: Int { count.load(ordering: .sequentiallyConsistent) }

    /// Counts one up.
    package func increment() {
        count.add(1, ordering: .sequentiallyConsistent)
    }
}
