/// Pauses that double from one failed attempt to the next, up to the longest.
struct Backoff: Sendable {
    private let first: Duration
    private let longest: Duration
    private var pause: Duration

    /// - Parameters:
    ///   - first: The first pause; 1 ms at least, as none would only spin.
    ///   - longest: The longest; never less than the first.
    init(first: Duration, longest: Duration) {
        self.first = max(first, .milliseconds(1))
        self.longest = max(longest, self.first)
        pause = self.first
    }

    /// The next pause.
    mutating func next() -> Duration {
        defer { pause = pause < longest / 2 ? pause * 2 : longest }
        return pause
    }

    /// An attempt went well.
    mutating func reset() {
        pause = first
    }
}
