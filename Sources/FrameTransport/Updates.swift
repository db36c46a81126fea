/// What comes from one connection beside its frames, for one consumer.
///
/// The connection is kept for as long as somebody holds the sequence.
public struct Updates<Element: Sendable>: AsyncSequence, Sendable {
    let mailbox: Mailbox<Element>
    let connection: any Sendable

    /// Starts to take updates.
    public func makeAsyncIterator() -> Iterator {
        Iterator(updates: self)
    }

    /// Takes the updates of one connection.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let updates: Updates

        /// The next update; nil at the end, or if the caller's task is cancelled.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> Element? {
            // These mailboxes end without an error.
            try? await updates.mailbox.next(isolation: actor)
        }

        /// The next update; nil at the end, or if the caller's task is cancelled.
        public mutating func next() async -> Element? {
            await next(isolation: nil)
        }
    }
}
