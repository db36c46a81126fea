/// Pauses that double from one failed attempt to the next, up to the longest.
package struct Backoff: Sendable {
    /// The shortest pause between two attempts: none would spin.
    static let shortest = Duration.milliseconds(1)

    private let first: Duration
    private let longest: Duration
    private var pause: Duration

    /// - Parameters:
    ///   - first: The first pause; at least ``shortest``.
    ///   - longest: The longest pause; at least the first.
    package init(first: Duration, longest: Duration) {
        self.first = max(first, Self.shortest)
        self.longest = max(longest, self.first)
        pause = self.first
    }

    /// Returns the next pause.
    package mutating func next() -> Duration {
        defer { pause = pause < longest / 2 ? pause * 2 : longest }
        return pause
    }

    /// Starts over after a successful attempt.
    mutating func reset() {
        pause = first
    }
}
