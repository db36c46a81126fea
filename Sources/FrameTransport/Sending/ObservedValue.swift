internal import Locking

/// A value of a connection, and the sequences that report its changes.
package final class ObservedValue<Value: Sendable & Equatable>: Sendable {
    private struct Observer {
        weak var changes: Mailbox<Value>?
    }

    private struct Content {
        var value: Value
        var hasEnded = false
        var observers: [Observer] = []
    }

    /// The number of values kept for a busy consumer: the latest.
    private let capacity: Int
    private let content: Locked<Content>

    package init(_ value: Value, capacity: Int) {
        self.capacity = capacity
        content = Locked(Content(value: value))
    }

    var value: Value { content.withLock { $0.value } }

    /// Returns a sequence of the current value and every later one, for one consumer, which keeps an object.
    package func values(keeping object: any Sendable) -> ConnectionValues<Value> {
        ConnectionValues(mailbox: makeMailbox(), connection: object)
    }

    /// Returns the current value and every later one, for one consumer.
    private func makeMailbox() -> Mailbox<Value> {
        let changes = Mailbox<Value>(capacity: .init(count: capacity), overflow: .replacesOldest)
        content.withLock { content in
            changes.put(content.value)
            if content.hasEnded { return changes.end() }
            content.observers.removeAll { $0.changes == nil }
            content.observers.append(Observer(changes: changes))
        }
        return changes
    }

    /// Changes the value; called on the connection's thread, so that every observer gets the changes in order.
    package func change(to value: Value) {
        let observers = content.withLock { content -> [Observer] in
            defer { content.value = value }
            return content.value == value ? [] : content.observers
        }
        for observer in observers { observer.changes?.put(value) }
    }

    package func end() {
        let observers = content.withLock { content in
            content.hasEnded = true
            defer { content.observers = [] }
            return content.observers
        }
        for observer in observers { observer.changes?.end() }
    }
}
