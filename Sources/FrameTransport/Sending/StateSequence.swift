internal import Locking

/// The state of a connection, and the sequences that report its changes.
final class StateSequence: Sendable {
    typealias Changes = Mailbox<SocketConnection.State>

    private struct Observer {
        weak var changes: Changes?
    }

    private struct Content {
        var state = SocketConnection.State.idle
        var hasEnded = false
        var observers: [Observer] = []
    }

    private let content = Locked(Content())

    var value: SocketConnection.State { content.withLock { $0.state } }

    /// Returns the current state and every later one, for one consumer.
    func makeMailbox() -> Changes {
        let changes = Changes(capacity: 16, overflow: .replacesOldest)
        content.withLock { content in
            changes.put(content.state)
            if content.hasEnded { return changes.end() }
            content.observers.removeAll { $0.changes == nil }
            content.observers.append(Observer(changes: changes))
        }
        return changes
    }

    /// Changes the state; called on the connection's thread, so that every observer gets the changes in order.
    func change(to state: SocketConnection.State) {
        let observers = content.withLock { content -> [Observer] in
            defer { content.state = state }
            return content.state == state ? [] : content.observers
        }
        for observer in observers { observer.changes?.put(state) }
    }

    func end() {
        let observers = content.withLock { content in
            content.hasEnded = true
            defer { content.observers = [] }
            return content.observers
        }
        for observer in observers { observer.changes?.end() }
    }
}
