// What these classes hold includes storage that cannot be copied, and the runtime traps if `dump`, or a test that failed,
// walks into such storage. So they reflect as what their users see of them.

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
    /// Nothing.
    public var customMirror: Mirror {
        Mirror(self, children: [:], displayStyle: .class)
    }
}
