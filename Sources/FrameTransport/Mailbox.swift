internal import Locking

/// A bounded queue between a thread that produces and the tasks that consume, which ends once.
///
/// What is in it when it ends is still delivered. A consumer whose task is cancelled gets the end.
final class Mailbox<Element: Sendable>: Sendable {
    /// What becomes of an element that comes while the mailbox is full.
    enum Overflow: Sendable {
        /// The producer asks ``makesRoom()`` first, and waits to be called.
        case refused
        /// The oldest element makes room for it, and is counted.
        case replacesOldest
    }

    private enum Delivery: Sendable {
        case element(Element)
        case end(TransportError?)
    }

    /// What wakes a waiter; unchecked, as each frame may need one: who takes it out of the state calls it, and nobody else can.
    @safe private struct Wake: Sendable {
        private let continuation: UnsafeContinuation<Void, Never>

        init(_ continuation: UnsafeContinuation<Void, Never>) {
            unsafe self.continuation = continuation
        }

        func callAsFunction() { unsafe continuation.resume() }
    }

    private struct Waiter {
        let id: UInt64
        let wake: Wake
    }

    private struct State {
        var elements: [Element] = []
        var end: Delivery?
        var waiters: [Waiter] = []
        /// What those who have been woken will find.
        ///
        /// It goes by way of the lock and not of the continuation, whose runtime a thread sanitizer does not see into.
        var deliveries: [(waiter: UInt64, delivery: Delivery)] = []
        var cancelled: Set<UInt64> = []
        var lastWaiter: UInt64 = 0
        var replaced = 0
        var producerWaits = false

        /// Takes out the first element, and says whether the producer waits to hear of the room that it leaves.
        mutating func takeFirst() -> (element: Element, producerWaits: Bool)? {
            guard !elements.isEmpty else { return nil }
            defer { producerWaits = false }
            return (elements.removeFirst(), producerWaits)
        }

        /// Puts down what a waiter will find, who is to be woken then.
        mutating func deliver(_ delivery: Delivery, to waiter: Waiter) -> Wake {
            deliveries.append((waiter.id, delivery))
            return waiter.wake
        }

        /// What was put down for a waiter, who has been woken.
        mutating func takeDelivery(for waiter: UInt64) -> Delivery {
            guard let index = deliveries.firstIndex(where: { $0.waiter == waiter }) else { return .end(nil) }
            return deliveries.remove(at: index).delivery
        }
    }

    private let capacity: Int
    private let overflow: Overflow
    private let state = Locked(State())

    private let onRoom: @Sendable () -> Void

    /// Makes an empty mailbox.
    ///
    /// - Parameters:
    ///   - capacity: how many elements it holds.
    ///   - overflow: what becomes of one more.
    ///   - onRoom: called when there is room again for a producer that was told there was none.
    init(capacity: Int, overflow: Overflow, onRoom: @escaping @Sendable () -> Void = {}) {
        self.capacity = capacity
        self.overflow = overflow
        self.onRoom = onRoom
    }

    // MARK: Producing

    /// Whether an element may be put in now; where not, `onRoom` is called when it may.
    func makesRoom() -> Bool {
        state.withLock { state in
            state.producerWaits = state.elements.count >= capacity && overflow == .refused
            return !state.producerWaits
        }
    }

    /// How many elements gave way to newer ones.
    var replaced: Int { state.withLock { $0.replaced } }

    /// Hands over an element: to the first consumer that waits, or to the queue.
    ///
    /// False once the mailbox has ended.
    @discardableResult
    func put(_ element: Element) -> Bool {
        let (isTaken, wake) = state.withLock { state -> (Bool, Wake?) in
            guard state.end == nil else { return (false, nil) }
            if !state.waiters.isEmpty {
                return (true, state.deliver(.element(element), to: state.waiters.removeFirst()))
            }
            if state.elements.count >= capacity, overflow == .replacesOldest {
                state.elements.removeFirst()
                state.replaced += 1
            }
            state.elements.append(element)
            return (true, nil)
        }
        wake?()
        return isTaken
    }

    /// Ends the mailbox: once, the first caller's way.
    func end(_ error: TransportError? = nil) {
        let wakes = state.withLock { state in
            guard state.end == nil else { return [] as [Wake] }
            state.end = .end(error)
            let waiters = state.waiters
            state.waiters = []
            return waiters.map { state.deliver(.end(error), to: $0) }
        }
        for wake in wakes { wake() }
    }

    /// Throws away what has not been consumed, and says how much it was.
    @discardableResult
    func discard() -> Int {
        // Taken out first and released after the lock: an element's end may come back here.
        let elements = state.withLock { state in
            defer { state.elements = [] }
            return state.elements
        }
        return elements.count
    }

    // MARK: Consuming

    /// Takes an element that is there already.
    func take() -> Element? {
        guard let (element, producerWaits) = state.withLock({ $0.takeFirst() }) else { return nil }
        if producerWaits { onRoom() }
        return element
    }

    /// Waits for the next element; nil at the end, or where the task is cancelled.
    func next(isolation: isolated (any Actor)? = #isolation) async throws(TransportError) -> Element? {
        let (first, id) = state.withLock { state in
            let first = state.takeFirst()
            if first == nil { state.lastWaiter += 1 }
            return (first, state.lastWaiter)
        }
        if let (element, producerWaits) = first {
            if producerWaits { onRoom() }
            return element
        }
        await withTaskCancellationHandler {
            await unsafe withUnsafeContinuation { continuation in
                wait(Waiter(id: id, wake: unsafe Wake(continuation)))
            }
        } onCancel: {
            cancel(id)
        }
        let isCancelled = Task.isCancelled
        let delivery = state.withLock { state in
            if isCancelled { state.cancelled.remove(id) }
            return state.takeDelivery(for: id)
        }
        switch delivery {
        case .element(let element): return element
        case .end(let error?): throw error
        case .end(nil): return nil
        }
    }

    private func wait(_ waiter: Waiter) {
        let (wake, producerWaits) = state.withLock { state -> (Wake?, Bool) in
            if state.cancelled.remove(waiter.id) != nil { return (state.deliver(.end(nil), to: waiter), false) }
            // Put in since the caller looked, and maybe the producer was told since then that there was no room.
            if let (element, producerWaits) = state.takeFirst() {
                return (state.deliver(.element(element), to: waiter), producerWaits)
            }
            if let end = state.end { return (state.deliver(end, to: waiter), false) }
            state.waiters.append(waiter)
            return (nil, false)
        }
        if producerWaits { onRoom() }
        wake?()
    }

    private func cancel(_ id: UInt64) {
        let wake = state.withLock { state -> Wake? in
            guard let index = state.waiters.firstIndex(where: { $0.id == id }) else {
                // Cancelled before it began to wait, or after it was served; the former finds this note.
                state.cancelled.insert(id)
                return nil
            }
            return state.deliver(.end(nil), to: state.waiters.remove(at: index))
        }
        wake?()
    }
}
