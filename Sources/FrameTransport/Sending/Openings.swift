/// Those who wait for a connection to open, each with a time at which it gives up.
struct Openings {
    /// Somebody who waits.
    final class Opening: Sendable {
        let result = Latch<Result<Void, TransportError>>()
        let limit: Duration?
        let deadline: UInt64?

        init(limit: Duration?) {
            self.limit = limit
            deadline = limit.map { MonotonicClock.deadline(in: $0) }
        }
    }

    private var waiting: [Opening] = []

    var isEmpty: Bool { waiting.isEmpty }

    var earliestDeadline: UInt64? { waiting.compactMap(\.deadline).min() }

    mutating func add(_ opening: Opening) {
        waiting.append(opening)
    }

    mutating func remove(_ opening: Opening) {
        waiting.removeAll { $0 === opening }
    }

    /// Tells everybody how it went.
    mutating func settle(_ result: Result<Void, TransportError>) {
        for opening in waiting { opening.result.set(result) }
        waiting = []
    }

    /// Tells those whose time is up, with what the last attempt came to.
    mutating func expire(at now: UInt64, path: String, _ failure: Errno?) {
        for opening in waiting {
            guard let limit = opening.limit, let deadline = opening.deadline, deadline <= now else { continue }
            opening.result.set(
                .failure(
                    TransportError(
                        .openTimedOut,
                        path: path,
                        systemError: failure,
                        "no server was reached within \(limit); is one running, for the same user, at this path?"
                    )
                )
            )
        }
        waiting.removeAll { $0.result.value != nil }
    }
}
