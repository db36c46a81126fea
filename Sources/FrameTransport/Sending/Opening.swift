/// A caller that waits for a connection to open.
final class Opening: Sendable {
    private static let ids = Counter()

    let id = ids.next()
    let result = Latch<Result<Void, TransportError>>()
    let limit: Duration?
    let deadline: UInt64?

    init(limit: Duration?) {
        self.limit = limit
        deadline = limit.map { MonotonicClock.deadline(in: $0) }
    }
}
