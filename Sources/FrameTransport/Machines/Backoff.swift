/// Pauses that double from one failed attempt to the next, up to the longest.
struct Backoff: Sendable {
    private let first: Duration
    private let longest: Duration
    private var pause: Duration

    /// - Parameters:
    ///   - first: The first pause; at least 1 ms, because no pause would spin.
    ///   - longest: The longest pause; at least the first.
    init(first: Duration, longest: Duration) {
        self.first = max(first, .milliseconds(1))
        self.longest = max(longest, self.first)
        pause = self.first
    }

    /// Returns the next pause.
    mutating func next() -> Duration {
        defer { pause = pause < longest / 2 ? pause * 2 : longest }
        return pause
    }

    /// Starts over after a successful attempt.
    mutating func reset() {
        pause = first
    }
}
