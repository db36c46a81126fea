/// Deadlines in order, at most one for each owner.
///
/// A sorted array: there are few of them, at most one for each connection of a thread, and they seldom change.
package struct DeadlineQueue {
    /// The latest first.
    private var entries: [(time: UInt64, token: UInt64)] = []

    package init() {}

    /// The number of owners with a deadline.
    package var count: Int { entries.count }

    /// The earliest deadline.
    package var first: UInt64? { entries.last?.time }

    /// Returns how long a poller may wait for the first deadline: rounded up, so that the deadline has passed when it
    /// wakes; -1 for no limit.
    package func milliseconds(from now: UInt64) -> Int32 {
        guard let first else { return -1 }
        guard first > now else { return 0 }
        return Int32(clamping: (first - now + 999_999) / 1_000_000)
    }

    /// Sets an owner's deadline, replacing its previous one.
    package mutating func set(_ time: UInt64, token: UInt64) {
        remove(token)
        var (low, high) = (0, entries.count)
        while low < high {
            let middle = (low + high) / 2
            if entries[middle].time > time { low = middle + 1 } else { high = middle }
        }
        entries.insert((time, token), at: low)
    }

    /// Removes an owner's deadline.
    package mutating func remove(_ token: UInt64) {
        if let index = entries.firstIndex(where: { $0.token == token }) { entries.remove(at: index) }
    }

    /// Takes out the earliest entry if its time is not after `now`.
    package mutating func popFirst(upTo now: UInt64) -> UInt64? {
        guard let first, first <= now else { return nil }
        return entries.popLast()?.token
    }
}

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
