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
