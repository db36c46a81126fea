internal import Locking

/// The state of a connection, and its changes.
final class StateSequence: Sendable {
    let changes = Mailbox<SocketConnection.State>(capacity: 16, overflow: .replacesOldest)
    private let current = Locked(SocketConnection.State.idle)

    var value: SocketConnection.State { current.withLock { $0 } }

    func change(to state: SocketConnection.State) {
        let isChange = current.withLock { current in
            defer { current = state }
            return current != state
        }
        if isChange { changes.put(state) }
    }

    func end() {
        changes.end()
    }
}
