// These classes hold noncopyable storage, and the runtime traps if `dump`, or a failed test, reflects such storage.
// Therefore they reflect only their public properties.

extension SocketConnection: CustomReflectable {
    /// The endpoint and the state.
    public var customMirror: Mirror {
        Mirror(self, children: ["endpoint": endpoint, "state": state], displayStyle: .class)
    }
}

extension FrameServer: CustomReflectable {
    /// The endpoint.
    public var customMirror: Mirror {
        Mirror(self, children: ["endpoint": endpoint], displayStyle: .class)
    }
}

extension FrameConnection: CustomReflectable {
    /// The number and the peer.
    public var customMirror: Mirror {
        Mirror(self, children: ["id": id, "peer": peer as Any], displayStyle: .class)
    }
}

extension IOThread: CustomReflectable {
    /// An empty mirror.
    public var customMirror: Mirror {
        Mirror(self, children: [:], displayStyle: .class)
    }
}
