/// Deadlines in order, at most one per owner: a binary heap, with O(log n) changes.
package struct DeadlineHeap {
    private struct Entry {
        var time: UInt64
        var token: UInt64
    }

    private var entries: [Entry] = []
    private var positions: [UInt64: Int] = [:]

    package init() {}

    package var isEmpty: Bool { entries.isEmpty }

    /// The number of owners with a deadline.
    package var count: Int { entries.count }

    /// The earliest deadline.
    package var first: UInt64? { entries.first?.time }

    /// Returns how long a poller may wait for the first deadline: rounded up, so that the deadline has passed when it
    /// wakes; -1 for no limit.
    package func milliseconds(from now: UInt64) -> Int32 {
        guard let first = entries.first else { return -1 }
        guard first.time > now else { return 0 }
        return Int32(clamping: (first.time - now + 999_999) / 1_000_000)
    }

    /// Sets an owner's deadline, replacing its previous one.
    package mutating func set(_ time: UInt64, token: UInt64) {
        if let index = positions[token] {
            entries[index].time = time
            siftDown(from: siftUp(from: index))
        } else {
            positions[token] = entries.count
            entries.append(Entry(time: time, token: token))
            _ = siftUp(from: entries.count - 1)
        }
    }

    /// Removes an owner's deadline.
    package mutating func remove(_ token: UInt64) {
        guard let index = positions.removeValue(forKey: token) else { return }
        let last = entries.removeLast()
        guard index < entries.count else { return }
        entries[index] = last
        positions[last.token] = index
        siftDown(from: siftUp(from: index))
    }

    /// Takes out the earliest entry if its time is not after `now`.
    package mutating func popFirst(upTo now: UInt64) -> UInt64? {
        guard let first = entries.first, first.time <= now else { return nil }
        remove(first.token)
        return first.token
    }

    /// - Returns: The new index of the entry.
    private mutating func siftUp(from index: Int) -> Int {
        var child = index
        while child > 0 {
            let parent = (child - 1) / 2
            guard entries[child].time < entries[parent].time else { break }
            swap(child, parent)
            child = parent
        }
        return child
    }

    private mutating func siftDown(from index: Int) {
        var parent = index
        while true {
            var least = parent
            for child in [2 * parent + 1, 2 * parent + 2]
            where child < entries.count && entries[child].time < entries[least].time {
                least = child
            }
            guard least != parent else { return }
            swap(parent, least)
            parent = least
        }
    }

    private mutating func swap(_ first: Int, _ second: Int) {
        entries.swapAt(first, second)
        positions[entries[first].token] = first
        positions[entries[second].token] = second
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
