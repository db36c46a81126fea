/// Decides what happens to elements between a producing thread and consuming tasks: their order, which are replaced,
/// who is resumed, how far the producer may read ahead, and the end.
///
/// Whatever is in the mailbox when it ends is still delivered.
///
/// `Wake` is what resumes a waiter: the machine keeps it while the waiter waits, and returns it once.
package struct MailboxMachine<Element, Wake> {
    /// What happens to an element that arrives while the mailbox is full.
    package enum Overflow: Sendable {
        /// The producer reserves room first, and waits to be called.
        case refused
        /// The oldest elements make room for it, and are counted.
        case replacesOldest
    }

    /// An element that was taken.
    package struct Taken {
        package let element: Element
        /// Whether the producer waits to be told that there is room.
        package let mustCallProducer: Bool
        /// Whether nothing will follow.
        package let isLast: Bool
    }

    /// What a waiter receives when it is resumed.
    package enum Delivery {
        case element(Taken)
        case end(TransportError?)
    }

    /// The capacity of a mailbox.
    package struct Capacity: Sendable {
        /// The maximum number of waiting elements.
        package var count: Int
        /// The maximum of their total weight; a single element may weigh more.
        package var weight = Int.max
        /// The maximum count while the consumer is faster than the producer; at least `count`.
        package var longest: Int

        package init(count: Int, weight: Int = .max, longest: Int? = nil) {
            (self.count, self.weight, self.longest) = (max(1, count), weight, max(1, longest ?? count, count))
        }
    }

    private struct Entry {
        let element: Element
        let weight: Int
    }

    private let capacity: Capacity
    private let overflow: Overflow
    private var entries: [Entry] = []
    /// The end, once reached: without an error, or with one.
    private var ending: TransportError??
    private var waiters: [(id: UInt64, wake: Wake)] = []
    /// The deliveries for waiters that have been resumed.
    private var deliveries: [(waiter: UInt64, delivery: Delivery)] = []
    /// The waiters that were cancelled before they began to wait.
    private var cancelled: Set<UInt64> = []
    private var lastWaiter: UInt64 = 0
    /// A waiting producer is called when at most this many elements are left.
    private var producerWaitsFor: Int?
    /// The number of elements that may be read ahead.
    private var window: Int
    /// Whether a consumer has found nothing since the window was last changed.
    private var hasStarved = false
    /// The number of elements taken since a consumer last found nothing.
    private var takenSinceStarved = 0

    /// The elements that the last ``put(_:weight:more:)`` replaced, for the shell to release outside its lock.
    private var givenWay: [Element] = []

    /// The number of elements that were replaced by newer ones.
    package private(set) var replaced = 0

    /// The weight of the waiting elements.
    package private(set) var weight = 0

    /// Whether there has been an element that nobody took or will take, or there may be one: it was discarded, came after
    /// the end, or still waits.
    package var hasUntaken: Bool { hasDiscarded || !entries.isEmpty }
    private var hasDiscarded = false

    /// Creates an empty mailbox.
    package init(capacity: Capacity, overflow: Overflow) {
        self.capacity = capacity
        self.overflow = overflow
        window = capacity.count
    }

    /// The number of waiting elements.
    package var count: Int { entries.count }

    /// The number of waiting consumers.
    package var waiterCount: Int { waiters.count }

    /// Whether the mailbox has ended.
    package var hasEnded: Bool { ending != nil }

    /// The error with which it has ended, if it has.
    package var error: TransportError? { ending ?? nil }

    // MARK: Producing

    /// Returns how many elements may be added now; if none, the producer is called as soon as there is room.
    ///
    /// A consumer that returns and finds nothing is faster than the producer: the read-ahead window is doubled. While
    /// at most half of the window is waiting, the producer may fill it, so that both work at the same time, and both
    /// are resumed once for several elements. A consumer that takes more than half a window and always finds something
    /// is slow: the window becomes the shortest again, so that the consumer does not get older elements.
    ///
    /// Elements that waiters are about to get do not count as read ahead.
    ///
    /// - Parameter onceEmpty: Whether there is room only after every waiting element has been taken.
    /// - Returns: The number of elements, and the weight of those waiting.
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

    /// Adds an element.
    ///
    /// - Parameters:
    ///   - element: The element.
    ///   - weight: Its weight.
    ///   - more: Whether more may follow at once, so that a waiter stays suspended until ``wakeWaiter()``.
    /// - Returns: Whether it was accepted, which it is until the mailbox ends, and the waiter to resume.
    package mutating func put(
        _ element: Element,
        weight: Int = 0,
        more: Bool = false
    ) -> (isAccepted: Bool, woken: Wake?) {
        guard ending == nil else {
            hasDiscarded = true
            return (false, nil)
        }
        // If held back, an element might be replaced before its consumer sees it.
        if !waiters.isEmpty, entries.isEmpty, !more || overflow == .replacesOldest {
            let waiter = waiters.removeFirst()
            deliveries.append((waiter.id, .element(Taken(element: element, mustCallProducer: false, isLast: false))))
            takenSinceStarved += 1
            return (true, waiter.wake)
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

    /// Assigns the first element to the first waiting consumer, once no more follow at once.
    ///
    /// - Returns: The waiter to resume; nil if none waits, or there is nothing for it.
    package mutating func wakeWaiter() -> Wake? {
        guard !waiters.isEmpty, let taken = take() else { return nil }
        let waiter = waiters.removeFirst()
        deliveries.append((waiter.id, .element(taken)))
        return waiter.wake
    }

    /// Takes out the replaced elements.
    package mutating func takeGivenWay() -> [Element] {
        if givenWay.isEmpty { return [] }
        defer { givenWay = [] }
        return givenWay
    }

    /// Ends the mailbox; the first end counts.
    ///
    /// - Returns: The waiters to resume.
    package mutating func end(_ error: TransportError?) -> [Wake] {
        guard ending == nil else { return [] }
        ending = .some(error)
        // Available elements come before the end.
        var woken: [Wake] = []
        while let wake = wakeWaiter() { woken.append(wake) }
        defer { waiters = [] }
        for waiter in waiters { deliveries.append((waiter.id, .end(error))) }
        return woken + waiters.map(\.wake)
    }

    /// Takes out every waiting element, and ends with `error`, overriding an earlier end if there was any element.
    ///
    /// - Returns: The elements, and the waiters to resume.
    package mutating func discard(_ error: TransportError?) -> (elements: [Element], woken: [Wake]) {
        let elements = entries.map(\.element)
        entries = []
        weight = 0
        let woken = end(error)
        if !elements.isEmpty {
            ending = .some(error)
            hasDiscarded = true
        }
        return (elements, woken)
    }

    /// Removes the first element that `matches`.
    package mutating func removeFirst(where matches: (Element) -> Bool) -> Element? {
        guard let index = entries.firstIndex(where: { matches($0.element) }) else { return nil }
        let entry = entries.remove(at: index)
        weight -= entry.weight
        return entry.element
    }

    // MARK: Consuming

    /// Takes an available element.
    package mutating func take() -> Taken? {
        guard !entries.isEmpty else { return nil }
        let entry = entries.removeFirst()
        weight -= entry.weight
        takenSinceStarved += 1
        let mustCall = producerWaitsFor.map { entries.count <= $0 } ?? false
        if mustCall { producerWaitsFor = nil }
        return Taken(element: entry.element, mustCallProducer: mustCall, isLast: hasEnded && entries.isEmpty)
    }

    /// Returns a number for a consumer that is about to wait.
    package mutating func makeWaiter() -> UInt64 {
        lastWaiter += 1
        return lastWaiter
    }

    /// Waits, unless there is now something for the consumer.
    ///
    /// - Returns: Whether its delivery is already available; if not, it is resumed with `wake`.
    package mutating func wait(_ waiter: UInt64, _ wake: Wake) -> Bool {
        if !cancelled.isEmpty, cancelled.remove(waiter) != nil {
            deliveries.append((waiter, .end(nil)))
        } else if let taken = take() {
            deliveries.append((waiter, .element(taken)))
        } else if let ending {
            deliveries.append((waiter, .end(ending)))
        } else {
            if takenSinceStarved > 0 { hasStarved = true }
            takenSinceStarved = 0
            waiters.append((waiter, wake))
            return false
        }
        return true
    }

    /// Ends the wait of a consumer that was cancelled.
    ///
    /// - Returns: What resumes it, if that is to be done. A consumer that has been served keeps its delivery.
    package mutating func cancel(_ waiter: UInt64) -> Wake? {
        guard let index = waiters.firstIndex(where: { $0.id == waiter }) else {
            // Cancelled before it began to wait, or after it was served; in the former case it finds this record.
            cancelled.insert(waiter)
            return nil
        }
        deliveries.append((waiter, .end(nil)))
        return waiters.remove(at: index).wake
    }

    /// Takes the delivery for a waiter that has been resumed.
    package mutating func takeDelivery(for waiter: UInt64) -> Delivery {
        if !cancelled.isEmpty { cancelled.remove(waiter) }
        guard let index = deliveries.firstIndex(where: { $0.waiter == waiter }) else { return .end(nil) }
        // Their order does not matter.
        deliveries.swapAt(index, deliveries.endIndex - 1)
        return deliveries.removeLast().delivery
    }
}

/// Decides which readers receive which frame of one sender: every reader gets the latest, and one that joins late
/// starts with the last.
package struct FanOutMachine<Frame> {
    private var readers: [UInt64] = []
    private var lastReader: UInt64 = 0
    private var last: Frame?

    /// The reason for the end of the frames; nil until then.
    package private(set) var ending: CloseReason?

    package init() {}

    /// The number of readers.
    package var readerCount: Int { readers.count }

    /// Publishes a frame.
    ///
    /// - Returns: The readers that receive it; none once the frames have ended.
    package mutating func publish(_ frame: Frame) -> [UInt64] {
        guard ending == nil else { return [] }
        last = frame
        return readers
    }

    /// Adds a reader.
    ///
    /// - Returns: Its number, the frame that it starts with, and the end if the frames have ended.
    package mutating func join() -> (reader: UInt64, first: Frame?, ending: CloseReason?) {
        lastReader += 1
        if ending == nil { readers.append(lastReader) }
        return (lastReader, last, ending)
    }

    /// Removes a reader.
    package mutating func leave(_ reader: UInt64) {
        readers.removeAll { $0 == reader }
    }

    /// Ends every reader after its last frame; only the first end counts.
    ///
    /// - Returns: The readers to notify.
    package mutating func end(_ reason: CloseReason) -> [UInt64] {
        guard ending == nil else { return [] }
        ending = reason
        defer { readers = [] }
        return readers
    }
}
