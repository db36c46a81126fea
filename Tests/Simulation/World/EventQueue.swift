/// What happens next, somewhere in the world.
struct Event {
    enum Kind: UInt8 {
        /// A step of the plan is due.
        case step
        /// An I/O thread does its next piece of work.
        case thread
        /// Bytes that were written become visible at the other end.
        case arrival
        /// A TCP connect comes to its result.
        case connect
        /// An application goes on: a producer, a consumer, an encoder.
        case program
        /// A peer that is not of this package goes on.
        case peer
        /// The system has descriptors again.
        case descriptorsReturn
        /// A place answers again.
        case placeAnswers
    }

    var time: UInt64
    var order: UInt32
    var kind: Kind
    var index: Int32
    var argument: Int32
}

/// The events to come, by time, and in the order of their scheduling if they are due at the same time.
struct EventQueue {
    private var heap: [Event] = []
    private var lastOrder: UInt32 = 0

    var isEmpty: Bool { heap.isEmpty }
    var nextTime: UInt64? { heap.first?.time }

    mutating func removeAll() {
        heap.removeAll(keepingCapacity: true)
        lastOrder = 0
    }

    mutating func schedule(_ kind: Event.Kind, _ index: Int, _ argument: Int = 0, at time: UInt64) {
        lastOrder += 1
        let event = Event(
            time: time,
            order: lastOrder,
            kind: kind,
            index: Int32(truncatingIfNeeded: index),
            argument: Int32(truncatingIfNeeded: argument)
        )
        heap.append(event)
        var child = heap.count - 1
        while child > 0 {
            let parent = (child - 1) / 2
            guard Self.precedes(event, heap[parent]) else { break }
            heap[child] = heap[parent]
            child = parent
        }
        heap[child] = event
    }

    mutating func popFirst() -> Event? {
        guard let first = heap.first else { return nil }
        let last = heap.removeLast()
        guard !heap.isEmpty else { return first }
        var parent = 0
        while true {
            var child = 2 * parent + 1
            guard child < heap.count else { break }
            if child + 1 < heap.count, Self.precedes(heap[child + 1], heap[child]) { child += 1 }
            guard Self.precedes(heap[child], last) else { break }
            heap[parent] = heap[child]
            parent = child
        }
        heap[parent] = last
        return first
    }

    private static func precedes(_ left: Event, _ right: Event) -> Bool {
        left.time != right.time ? left.time < right.time : left.order < right.order
    }
}

/// A hash of events in their order: equal if the same happened.
struct EventDigest {
    private(set) var value: UInt64 = 0

    mutating func add(_ event: Event) {
        let what = UInt64(event.kind.rawValue) << 56 | UInt64(UInt32(truncatingIfNeeded: event.index))
        value = (value ^ event.time ^ what &* 0x9e37_79b9_7f4a_7c15) &* 0x0000_0100_0000_01b3
        value ^= value >> 29
    }
}
