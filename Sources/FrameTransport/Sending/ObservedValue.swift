internal import Locking

/// A value of a connection, and the sequences and objects that follow its changes.
package final class ObservedValue<Value: Sendable & Equatable>: Sendable {
    private typealias Object = any AnyObject & Sendable

    private struct Observer {
        weak var object: Object?
        /// Takes a new value, and nil when there are no more.
        let take: @Sendable (Value?) -> Void
    }

    private struct Content {
        var value: Value
        var hasEnded = false
        var observers: [Observer] = []

        /// Adds an observer, and removes those whose object is gone.
        ///
        /// - Returns: The objects of the others, to be released outside the lock: each may be the last reference.
        mutating func add(_ observer: Observer) -> [Object?] {
            let objects = observers.map(\.object)
            observers = zip(observers, objects).filter { $1 != nil }.map(\.0) + [observer]
            return objects
        }
    }

    /// The number of values kept for a busy consumer: the latest.
    private let capacity: Int
    private let content: Locked<Content>

    package init(_ value: Value, capacity: Int = 1) {
        self.capacity = capacity
        content = Locked(Content(value: value))
    }

    var value: Value { content.withLock { $0.value } }

    /// Returns a sequence of the current value and every later one, for one consumer, which keeps an object.
    package func values(keeping object: any Sendable) -> ConnectionValues<Value> {
        let changes = Mailbox<Value>(capacity: .init(count: capacity), overflow: .replacesOldest)
        let observer = Observer(object: changes) { [weak changes] value in
            if let value { changes?.put(value) } else { changes?.end() }
        }
        let others = content.withLock { content -> [Object?] in
            // Under the lock, or a newer value might come first.
            changes.put(content.value)
            guard !content.hasEnded else {
                changes.end()
                return []
            }
            return content.add(observer)
        }
        return withExtendedLifetime(others) { ConnectionValues(mailbox: changes, connection: object) }
    }

    /// Calls `call` with the current value, and with every later one on the connection's thread, as long as `observer`
    /// exists.
    ///
    /// At first two threads may deliver at the same time; the value has to show which one is newer.
    func observe<Follower: AnyObject & Sendable>(
        for observer: Follower,
        _ call: @escaping @Sendable (Follower, Value) -> Void
    ) {
        let entry = Observer(object: observer) { [weak observer] value in
            if let observer, let value { call(observer, value) }
        }
        let (value, others) = content.withLock { content -> (Value, [Object?]) in
            (content.value, content.hasEnded ? [] : content.add(entry))
        }
        withExtendedLifetime(others) { call(observer, value) }
    }

    /// Changes the value; called on the connection's thread, so that every observer gets the changes in order.
    package func change(to value: Value) {
        let observers = content.withLock { content -> [Observer] in
            defer { content.value = value }
            return content.value == value ? [] : content.observers
        }
        for observer in observers { observer.take(value) }
    }

    package func end() {
        let observers = content.withLock { content in
            content.hasEnded = true
            defer { content.observers = [] }
            return content.observers
        }
        for observer in observers { observer.take(nil) }
    }
}
