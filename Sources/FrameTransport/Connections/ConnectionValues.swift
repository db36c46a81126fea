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
            try? await values.mailbox.next(isolation: actor)
        }

        /// Returns the next value; nil at the end, or if the calling task is cancelled.
        public mutating func next() async -> Element? {
            await next(isolation: nil)
        }
    }
}
