/// Deadlines in the order in which they pass: a binary heap, O(log n) to insert and to pop.
struct DeadlineHeap {
    private struct Entry {
        var time: UInt64
        var token: UInt64
    }

    private var entries: [Entry] = []

    var isEmpty: Bool { entries.isEmpty }

    /// How long a poller may wait for the first deadline: rounded up, so that it has passed on waking; -1 for ever.
    func milliseconds(until now: () -> UInt64) -> Int32 {
        guard let first = entries.first else { return -1 }
        let now = now()
        guard first.time > now else { return 0 }
        return Int32(clamping: (first.time - now + 999_999) / 1_000_000)
    }

    mutating func insert(_ time: UInt64, token: UInt64) {
        entries.append(Entry(time: time, token: token))
        var child = entries.count - 1
        while child > 0 {
            let parent = (child - 1) / 2
            guard entries[child].time < entries[parent].time else { break }
            entries.swapAt(child, parent)
            child = parent
        }
    }

    /// Takes out the earliest entry if its time is not after `now`.
    mutating func popFirst(upTo now: UInt64) -> UInt64? {
        guard let first = entries.first, first.time <= now else { return nil }
        let last = entries.removeLast()
        if !entries.isEmpty {
            entries[0] = last
            siftDown()
        }
        return first.token
    }

    private mutating func siftDown() {
        var parent = 0
        while true {
            var least = parent
            for child in [2 * parent + 1, 2 * parent + 2]
            where child < entries.count && entries[child].time < entries[least].time {
                least = child
            }
            guard least != parent else { return }
            entries.swapAt(parent, least)
            parent = least
        }
    }
}
