/// A caller that waits for a connection to open.
final class Opening: Sendable {
    private static let ids = Counter()

    let id = ids.next()
    let result = Latch<Result<Void, TransportError>>()
    let limit: Duration?
    let deadline: UInt64?
    private let completion: (@Sendable (Result<Void, TransportError>) -> Void)?

    /// Creates a caller that waits for what is left of a limit; errors state the limit itself.
    init(
        limit: Duration?,
        elapsed: Duration = .zero,
        completion: (@Sendable (Result<Void, TransportError>) -> Void)? = nil
    ) {
        self.limit = limit
        deadline = limit.map { MonotonicClock.deadline(in: $0 - elapsed) }
        self.completion = completion
    }

    /// Hands the result to whoever waits; only the first one counts.
    func settle(_ outcome: Result<Void, TransportError>) {
        if result.set(outcome) { completion?(outcome) }
    }
}
