import Foundation
import Synchronization

/// Something that several threads look at, and that is set once.
package final class Flag: Sendable {
    private let value = Atomic(false)

    package init() {}

    package var isSet: Bool { value.load(ordering: .acquiring) }

    package func set() {
        value.store(true, ordering: .releasing)
    }
}

/// Holds up whatever thread comes to it until it is released.
package final class Gate: Sendable {
    private let arrival = DispatchSemaphore(value: 0)
    private let departure = DispatchSemaphore(value: 0)

    package init() {}

    /// Holds up the caller's thread.
    package func hold() {
        arrival.signal()
        departure.wait()
    }

    /// Waits until a thread is held up.
    package func held() async {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                self.arrival.wait()
                continuation.resume()
            }
        }
    }

    /// Lets the thread go.
    package func release() {
        departure.signal()
    }
}
