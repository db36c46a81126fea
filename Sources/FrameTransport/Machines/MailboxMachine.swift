/// Decides what happens to elements between a producing thread and consuming tasks: their order, which are replaced,
/// who is resumed, how far the producer may read ahead, and the end.
///
/// Whatever is in the mailbox when it ends is still delivered.
///
/// A consumer that finds nothing leaves a `Wake`, which the machine returns once, when it is to look again. An element
/// for which a consumer has been woken counts as that consumer's: it neither is replaced nor fills the mailbox.
package struct MailboxMachine<Element, Wake> {
    /// What happens to an element that arrives while the mailbox is full.
    package enum Overflow: Sendable {
        /// The producer reserves room first, and waits to be called.
        case refused
        /// The oldest elements make room for it, and are counted.
        case replacesOldest
    }

    /// What a consumer finds.
    package enum Found {
        /// An element; whether the producer waits to be told that there is room, and whether nothing will follow.
        case element(Element, mustCallProducer: Bool, isLast: Bool)
        /// Nothing yet: it may wait.
        case nothing
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
    private var waiters: [Wake] = []
    /// The number of consumers that have been woken, and have not looked yet.
    private var woken = 0
    /// A waiting producer is called when at most this many elements are left.
    private var producerWaitsFor: Int?
    /// The number of elements that may be read ahead.
    private var window: Int
    /// Whether a consumer has found nothing since the window was last changed.
    private var hasStarved = false
    /// The number of elements taken since a consumer last found nothing.
    private var takenSinceStarved = 0

    /// What the last ``put(_:weight:more:)`` replaced, or did not accept, for the shell to release outside its lock.
    private var givenWay: [Element] = []

    /// The number of elements that were replaced by newer ones.
    package private(set) var replaced = 0

    /// Whether there has been an element that nobody took or will take, or there may be one: it was discarded, came after
    /// the end, or still waits.
    package var hasUntaken: Bool { hasDiscarded || count > 0 }
    private var hasDiscarded = false

    /// Creates an empty mailbox.
    package init(capacity: Capacity, overflow: Overflow) {
        self.capacity = capacity
        self.overflow = overflow
        window = capacity.count
    }

    /// The elements that wait, and are not about to be taken.
    private var waiting: ArraySlice<Entry> { entries.dropFirst(woken) }

    /// Their number.
    package var count: Int { max(0, entries.count - woken) }

    /// Their weight.
    package var weight: Int { waiting.reduce(0) { $0 + $1.weight } }

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
    /// Elements that consumers are about to get do not count as read ahead.
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
        let ahead = max(0, count - waiters.count)
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
    ///   - more: Whether more may follow at once, so that a consumer stays suspended until ``wakeWaiter()``.
    /// - Returns: Whether it was accepted, which it is until the mailbox ends, and the consumer to wake.
    package mutating func put(
        _ element: Element,
        weight: Int = 0,
        more: Bool = false
    ) -> (isAccepted: Bool, woken: Wake?) {
        guard ending == nil else {
            hasDiscarded = true
            givenWay.append(element)
            return (false, nil)
        }
        if overflow == .replacesOldest {
            while count > 0, count >= capacity.count || self.weight > capacity.weight - weight {
                givenWay.append(entries.remove(at: woken).element)
                replaced += 1
            }
        }
        entries.append(Entry(element: element, weight: weight))
        // If held back, an element might be replaced before its consumer sees it.
        return (true, more && overflow == .refused ? nil : wakeWaiter())
    }

    /// Returns the next consumer to wake; nil if none waits, or there is nothing for it.
    package mutating func wakeWaiter() -> Wake? {
        guard !waiters.isEmpty, count > 0 else { return nil }
        woken += 1
        return waiters.removeFirst()
    }

    /// Returns every waiting consumer, to be woken for another reason: the end, or that one of them was cancelled.
    package mutating func wakeAll() -> [Wake] {
        woken += waiters.count
        defer { waiters = [] }
        return waiters
    }

    /// Takes out the elements that were replaced, or not accepted.
    package mutating func takeGivenWay() -> [Element] {
        if givenWay.isEmpty { return [] }
        defer { givenWay = [] }
        return givenWay
    }

    /// Ends the mailbox; the first end counts.
    ///
    /// - Returns: The consumers to wake.
    package mutating func end(_ error: TransportError?) -> [Wake] {
        guard ending == nil else { return [] }
        ending = .some(error)
        return wakeAll()
    }

    /// Takes out every waiting element, and ends with `error`, overriding an earlier end if there was any element.
    ///
    /// - Returns: The elements, and the consumers to wake.
    package mutating func discard(_ error: TransportError?) -> (elements: [Element], woken: [Wake]) {
        let elements = waiting.map(\.element)
        entries.removeLast(elements.count)
        let woken = end(error)
        if !elements.isEmpty {
            ending = .some(error)
            hasDiscarded = true
        }
        return (elements, woken)
    }

    /// Removes the first waiting element that `matches`, if more than `count` of them do.
    package mutating func removeFirst(beyond count: Int, where matches: (Element) -> Bool) -> Element? {
        let found = waiting.indices.filter { matches(entries[$0].element) }
        guard found.count > count, let first = found.first else { return nil }
        return entries.remove(at: first).element
    }

    // MARK: Consuming

    /// Takes an available element, or the end behind the last one.
    ///
    /// - Parameter wasWoken: Whether the consumer has waited until now.
    /// - Returns: What it finds.
    package mutating func take(wasWoken: Bool = false) -> Found {
        if wasWoken { woken -= 1 }
        guard !entries.isEmpty else { return ending.map { .end($0) } ?? .nothing }
        // Moved out: the array's `removeFirst()` copies.
        let element = entries.remove(at: 0).element
        takenSinceStarved += 1
        let mustCall = producerWaitsFor.map { entries.count <= $0 } ?? false
        if mustCall { producerWaitsFor = nil }
        return .element(element, mustCallProducer: mustCall, isLast: hasEnded && entries.isEmpty)
    }

    /// Has a consumer wait that has found nothing.
    ///
    /// - Parameters:
    ///   - wake: What wakes it.
    ///   - isCancelled: Whether it does not wait any longer.
    /// - Returns: Whether it waits; if not, it looks again at once, like one that has been woken.
    package mutating func wait(_ wake: Wake, isCancelled: Bool = false) -> Bool {
        guard count == 0, ending == nil, !isCancelled else {
            woken += 1
            return false
        }
        if takenSinceStarved > 0 { hasStarved = true }
        takenSinceStarved = 0
        waiters.append(wake)
        return true
    }
}
