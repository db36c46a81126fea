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

/// A weak reference, for a closure that is created before the object is.
///
/// - Note: `@unchecked Sendable` holds because `object` is set once, before the closure that holds this can be called.
final class WeakReference<Object: AnyObject>: @unchecked Sendable {
    weak var object: Object?
}

/// A class that holds noncopyable storage: the runtime traps if `dump`, or a failed test, reflects such storage.
package protocol OpaquelyReflected: AnyObject, CustomReflectable {}

extension OpaquelyReflected {
    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: [:], displayStyle: .class) }
}

extension SocketConnection: OpaquelyReflected {}

extension FrameServer: OpaquelyReflected {}

extension FrameConnection: OpaquelyReflected {}

extension IOThread: OpaquelyReflected {}
