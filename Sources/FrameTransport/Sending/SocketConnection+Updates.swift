extension SocketConnection {
    /// What happens to one connection, for one consumer.
    public struct Updates<Element: Sendable>: AsyncSequence, Sendable {
        let mailbox: Mailbox<Element>
        let connection: SocketConnection

        /// Starts to take updates.
        public func makeAsyncIterator() -> Iterator {
            Iterator(mailbox: mailbox, connection: connection)
        }

        /// Takes the updates of one connection, and keeps it meanwhile.
        public struct Iterator: AsyncIteratorProtocol {
            let mailbox: Mailbox<Element>
            let connection: SocketConnection

            /// The next update; nil at the end, or where the caller's task is cancelled.
            public mutating func next(isolation actor: isolated (any Actor)?) async -> Element? {
                // These mailboxes end without an error.
                try? await mailbox.next(isolation: actor)
            }

            /// The next update; nil at the end, or where the caller's task is cancelled.
            public mutating func next() async -> Element? {
                await next(isolation: nil)
            }
        }
    }
}
