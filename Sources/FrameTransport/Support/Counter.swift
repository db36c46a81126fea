internal import Locking

/// Numbers that no two callers get.
final class Counter: Sendable {
    private let last = Locked(0)

    /// Returns the next number, from 1.
    func next() -> Int {
        last.withLock { last in
            last &+= 1
            return last
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
