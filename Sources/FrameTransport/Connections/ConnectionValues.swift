internal import Locking

/// An asynchronous sequence of messages other than frames from one connection, for one consumer.
///
/// The sequence does not keep the connection, whose end is its end. A consumer whose task is cancelled gets the end as well,
/// and what it did not take goes to the next one.
public struct ConnectionValues<Element: Sendable>: AsyncSequence, Sendable {
    let mailbox: Mailbox<Element>

    /// Creates an iterator over the values.
    public func makeAsyncIterator() -> Iterator {
        Iterator(values: self)
    }

    /// An iterator over the values of one connection.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let values: ConnectionValues

        /// Returns the next value; nil at the end, or if the calling task is cancelled.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> Element? {
            // These mailboxes end without an error.
            try? await values.mailbox.next()
        }

        /// Returns the next value; nil at the end, or if the calling task is cancelled.
        public mutating func next() async -> Element? {
            await next(isolation: nil)
        }
    }
}

/// A value of a connection, and the sequences and objects that follow its changes.
package final class ObservedValue<Value: Sendable & Equatable>: Sendable {
    private struct Follower {
        weak var object: (any AnyObject & Sendable)?
        let call: @Sendable (Value) -> Void
    }

    private typealias Continuation = AsyncStream<Value>.Continuation

    private struct Content {
        var value: Value
        var hasEnded = false
        var streams: [Int: Continuation] = [:]
        var lastStream = 0
        var followers: [Follower] = []
    }

    /// The number of values kept for a busy consumer: the latest.
    private let capacity: Int
    private let content: Locked<Content>

    package init(_ value: Value, capacity: Int = 1) {
        self.capacity = capacity
        content = Locked(Content(value: value))
    }

    deinit {
        end()
    }

    var value: Value { content.withLock { $0.value } }

    /// Returns a sequence of the current value and every later one, for one consumer; it keeps nothing.
    package func values() -> AsyncStream<Value> {
        let (stream, continuation) = AsyncStream.makeStream(of: Value.self, bufferingPolicy: .bufferingNewest(capacity))
        let id: Int? = content.withLock { content in
            // Under the lock, or a newer value might come first.
            continuation.yield(content.value)
            guard !content.hasEnded else { return nil }
            content.lastStream += 1
            content.streams[content.lastStream] = continuation
            return content.lastStream
        }
        guard let id else {
            continuation.finish()
            return stream
        }
        continuation.onTermination = { [weak self] _ in
            _ = self?.content.withLock { $0.streams.removeValue(forKey: id) }
        }
        return stream
    }

    /// Calls `call` with the current value, and with every later one on the connection's thread, as long as `follower`
    /// exists.
    ///
    /// At first two threads may deliver at the same time; the value has to show which one is newer.
    func observe<Object: AnyObject & Sendable>(
        for follower: Object,
        _ call: @escaping @Sendable (Object, Value) -> Void
    ) {
        let entry = Follower(object: follower) { [weak follower] value in
            if let follower { call(follower, value) }
        }
        let (value, others) = content.withLock { content in
            // The objects are released outside the lock: each may be the last reference.
            let others = content.followers.map(\.object)
            content.followers = zip(content.followers, others).filter { $1 != nil }.map(\.0)
            if !content.hasEnded { content.followers.append(entry) }
            return (content.value, others)
        }
        withExtendedLifetime(others) { call(follower, value) }
    }

    /// Changes the value; called on the connection's thread, so that every observer gets the changes in order.
    package func change(to value: Value) {
        let (streams, followers) = content.withLock { content -> ([Continuation], [Follower]) in
            defer { content.value = value }
            return content.value == value ? ([], []) : (Array(content.streams.values), content.followers)
        }
        for stream in streams { stream.yield(value) }
        for follower in followers { follower.call(value) }
    }

    package func end() {
        let streams = content.withLock { content -> [Continuation] in
            content.hasEnded = true
            defer { (content.streams, content.followers) = ([:], []) }
            return Array(content.streams.values)
        }
        for stream in streams { stream.finish() }
    }
}
