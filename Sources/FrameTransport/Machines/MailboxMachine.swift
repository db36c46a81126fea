/// Decides what becomes of the elements between a thread that produces and the tasks that consume: their order, which
/// of them give way, who is woken, how far the producer may read ahead, and the end.
///
/// Whatever is in the mailbox when it ends is still delivered.
package struct MailboxMachine<Element> {
    /// What becomes of an element that comes while the mailbox is full.
    package enum Overflow: Sendable {
        /// The producer reserves room first, and waits to be called.
        case refused
        /// The oldest elements make room for it, and are counted.
        case replacesOldest
    }

    /// An element that was taken.
    package struct Taken {
        package let element: Element
        /// Whether the producer waits to hear of the room.
        package let mustCallProducer: Bool
        /// Whether nothing will follow.
        package let isLast: Bool
    }

    /// What a waiter finds when it is woken.
    package enum Delivery {
        case element(Taken)
        case end(TransportError?)
    }

    /// How many elements a mailbox holds.
    package struct Capacity: Sendable {
        /// The most elements that wait.
        package var count: Int
        /// The most that they may weigh together; one alone may weigh more.
        package var weight = Int.max
        /// How far the count grows while the consumer is faster than the producer; no less than `count`.
        package var longest: Int

        package init(count: Int, weight: Int = .max, longest: Int? = nil) {
            (self.count, self.weight, self.longest) = (max(1, count), weight, max(1, longest ?? count, count))
        }
    }

    private struct Entry {
        var element: Element
        let weight: Int
    }

    private let capacity: Capacity
    private let overflow: Overflow
    private var entries: [Entry] = []
    /// The end, once it has come: without an error, or with one.
    private var ending: TransportError??
    private var waiters: [UInt64] = []
    /// What was put down for those who have been woken.
    private var deliveries: [(waiter: UInt64, delivery: Delivery)] = []
    /// The waiters that were cancelled before they began to wait.
    private var cancelled: Set<UInt64> = []
    private var lastWaiter: UInt64 = 0
    /// A producer that waits is called when no more than so many elements are left.
    private var producerWaitsFor: Int?
    /// How many elements may be read ahead.
    private var window: Int
    /// Whether a consumer has found nothing since the window was last changed.
    private var hasStarved = false
    /// How many elements were taken since a consumer last found nothing.
    private var takenSinceStarved = 0

    /// The elements that the last ``put(_:weight:)`` made give way, for the shell to release behind its lock.
    private var givenWay: [Element] = []

    /// How many elements gave way to newer ones, or were discarded.
    package private(set) var replaced = 0

    /// What the waiting elements weigh.
    package private(set) var weight = 0

    /// An empty mailbox.
    package init(capacity: Capacity, overflow: Overflow) {
        self.capacity = capacity
        self.overflow = overflow
        window = capacity.count
    }

    /// How many elements wait.
    package var count: Int { entries.count }

    /// How many consumers wait.
    package var waiterCount: Int { waiters.count }

    /// Whether the mailbox has ended.
    package var hasEnded: Bool { ending != nil }

    // MARK: Producing

    /// How many elements may be put in now; none if the producer is called as soon as there is room.
    ///
    /// A consumer that comes back and finds nothing is faster than the producer: the window within which the producer
    /// reads ahead is doubled. While no more than half of it waits, the producer may fill it up, so that the two work
    /// at the same time, and both are woken once for several elements. A consumer that takes more than half a window
    /// and always finds something is slow: the window is the shortest again, so that it gets no older elements for it.
    ///
    /// What the waiters are about to get is not read ahead.
    ///
    /// - Parameter onceEmpty: Whether there is no room before everything that waits has been taken.
    /// - Returns: How many elements, and what those weigh that wait.
    package mutating func reserve(onceEmpty: Bool = false) -> (room: Int, waitingWeight: Int) {
        guard overflow == .refused else { return (.max, 0) }
        if hasStarved {
            window = min(window * 2, capacity.longest)
            hasStarved = false
        } else if takenSinceStarved > window / 2 {
            window = capacity.count
        }
        let ahead = max(0, entries.count - waiters.count)
        let most = onceEmpty ? 0 : window / 2
        guard ahead <= most else {
            producerWaitsFor = most
            return (0, weight)
        }
        producerWaitsFor = nil
        return (window - ahead, ahead > 0 ? weight : 0)
    }

    /// Puts in an element.
    ///
    /// - Parameters:
    ///   - element: The element.
    ///   - weight: What it weighs.
    ///   - more: Whether more may follow at once, so that a waiter is left asleep until ``wakeWaiter()``.
    /// - Returns: Whether it was accepted, which it is until the mailbox ends, and the waiter to wake.
    package mutating func put(
        _ element: Element,
        weight: Int = 0,
        more: Bool = false
    ) -> (isAccepted: Bool, woken: UInt64?) {
        guard ending == nil else { return (false, nil) }
        // Held back, an element might give way before its consumer sees it.
        if !waiters.isEmpty, entries.isEmpty, !more || overflow == .replacesOldest {
            let waiter = waiters.removeFirst()
            deliveries.append((waiter, .element(Taken(element: element, mustCallProducer: false, isLast: false))))
            takenSinceStarved += 1
            return (true, waiter)
        }
        if overflow == .replacesOldest {
            while !entries.isEmpty, entries.count >= capacity.count || self.weight > capacity.weight - weight {
                let entry = entries.removeFirst()
                self.weight -= entry.weight
                givenWay.append(entry.element)
                replaced += 1
            }
        }
        entries.append(Entry(element: element, weight: weight))
        self.weight += weight
        return (true, nil)
    }

    /// Puts down the first element for the first consumer who waits, once no more follows at once.
    ///
    /// - Returns: The waiter to wake; nil if none waits, or there is nothing for it.
    package mutating func wakeWaiter() -> UInt64? {
        guard !waiters.isEmpty, let taken = take() else { return nil }
        let waiter = waiters.removeFirst()
        deliveries.append((waiter, .element(taken)))
        return waiter
    }

    /// Takes out what gave way.
    package mutating func takeGivenWay() -> [Element] {
        if givenWay.isEmpty { return [] }
        defer { givenWay = [] }
        return givenWay
    }

    /// Ends the mailbox; the first end counts.
    ///
    /// - Returns: The waiters to wake.
    package mutating func end(_ error: TransportError?) -> [UInt64] {
        guard ending == nil else { return [] }
        ending = .some(error)
        // What is there comes before the end.
        var woken: [UInt64] = []
        while let waiter = wakeWaiter() { woken.append(waiter) }
        defer { waiters = [] }
        for waiter in waiters { deliveries.append((waiter, .end(error))) }
        return woken + waiters
    }

    /// Takes out everything that waits, counts it as replaced, and ends with `error` whatever the end was before.
    ///
    /// - Returns: The elements, and the waiters to wake.
    package mutating func discard(_ error: TransportError?) -> (elements: [Element], woken: [UInt64]) {
        let elements = entries.map(\.element)
        replaced += elements.count
        entries = []
        weight = 0
        let woken = end(error)
        if !elements.isEmpty { ending = .some(error) }
        return (elements, woken)
    }

    /// Takes out the first element that `matches`.
    package mutating func removeFirst(where matches: (Element) -> Bool) -> Element? {
        guard let index = entries.firstIndex(where: { matches($0.element) }) else { return nil }
        let entry = entries.remove(at: index)
        weight -= entry.weight
        return entry.element
    }

    /// Changes every element that waits, or was put down for a waiter that has not come for it.
    package mutating func changeEach(_ change: (inout Element) -> Void) {
        for index in entries.indices { change(&entries[index].element) }
        for index in deliveries.indices {
            guard case .element(let taken) = deliveries[index].delivery else { continue }
            var element = taken.element
            change(&element)
            deliveries[index].delivery = .element(
                Taken(element: element, mustCallProducer: taken.mustCallProducer, isLast: taken.isLast)
            )
        }
    }

    // MARK: Consuming

    /// Takes an element that is there already.
    package mutating func take() -> Taken? {
        guard !entries.isEmpty else { return nil }
        let entry = entries.removeFirst()
        weight -= entry.weight
        takenSinceStarved += 1
        let mustCall = producerWaitsFor.map { entries.count <= $0 } ?? false
        if mustCall { producerWaitsFor = nil }
        return Taken(element: entry.element, mustCallProducer: mustCall, isLast: hasEnded && entries.isEmpty)
    }

    /// A number for a consumer that is about to wait.
    package mutating func makeWaiter() -> UInt64 {
        lastWaiter += 1
        return lastWaiter
    }

    /// Waits, unless there is something for the consumer by now.
    ///
    /// - Returns: Whether its delivery is there already.
    package mutating func wait(_ waiter: UInt64) -> Bool {
        if !cancelled.isEmpty, cancelled.remove(waiter) != nil {
            deliveries.append((waiter, .end(nil)))
        } else if let taken = take() {
            deliveries.append((waiter, .element(taken)))
        } else if let ending {
            deliveries.append((waiter, .end(ending)))
        } else {
            if takenSinceStarved > 0 { hasStarved = true }
            takenSinceStarved = 0
            waiters.append(waiter)
            return false
        }
        return true
    }

    /// Ends the wait of a consumer that was cancelled.
    ///
    /// - Returns: Whether it is to be woken. If it has been served, it keeps what it was served.
    package mutating func cancel(_ waiter: UInt64) -> Bool {
        guard let index = waiters.firstIndex(of: waiter) else {
            // Cancelled before it began to wait, or after it was served; the former finds this note.
            cancelled.insert(waiter)
            return false
        }
        waiters.remove(at: index)
        deliveries.append((waiter, .end(nil)))
        return true
    }

    /// What was put down for a waiter that has been woken.
    package mutating func takeDelivery(for waiter: UInt64) -> Delivery {
        if !cancelled.isEmpty { cancelled.remove(waiter) }
        guard let index = deliveries.firstIndex(where: { $0.waiter == waiter }) else { return .end(nil) }
        // Their order is of no importance.
        deliveries.swapAt(index, deliveries.endIndex - 1)
        return deliveries.removeLast().delivery
    }
}
