/// What happens next, by time, and in the order of its scheduling if it is due at the same time.
struct EventQueue {
    /// The latest first: most of what is scheduled comes soon.
    private var events: [(time: UInt64, body: () -> Void)] = []

    var isEmpty: Bool { events.isEmpty }
    var nextTime: UInt64? { events.last?.time }

    mutating func removeAll() {
        events.removeAll()
    }

    mutating func schedule(at time: UInt64, _ body: @escaping () -> Void) {
        var place = events.count
        while place > 0, events[place - 1].time <= time { place -= 1 }
        events.insert((time, body), at: place)
    }

    mutating func popFirst() -> (time: UInt64, body: () -> Void)? { events.popLast() }
}

/// What a program does soon, and may do sooner.
final class Pending {
    private var body: (() -> Void)?

    init(_ body: @escaping () -> Void) {
        self.body = body
    }

    var hasRun: Bool { body == nil }

    func run() {
        body.take()?()
    }
}
