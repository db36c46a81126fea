/// Watches whether a server reads what is sent to it.
struct StallWatch {
    /// How long a server may leave everything in the socket unread, in nanoseconds.
    private let limit: UInt64

    private var backlog: SendBacklog?
    private var lastChange = MonotonicClock.now()

    init(limit: Duration) {
        self.limit = limit.nanoseconds
    }

    /// Returns whether nothing has been read for too long.
    mutating func isStalled(at backlog: SendBacklog?) -> Bool {
        let now = MonotonicClock.now()
        if backlog != self.backlog { (self.backlog, lastChange) = (backlog, now) }
        return now - lastChange >= limit
    }
}
