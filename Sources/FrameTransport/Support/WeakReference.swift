/// A weak reference, for a closure that is created before the object is.
///
/// - Note: `@unchecked Sendable` holds because `object` is set once, before the closure that holds this can be called.
final class WeakReference<Object: AnyObject>: @unchecked Sendable {
    weak var object: Object?
}
