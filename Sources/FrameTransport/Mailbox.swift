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

    private struct State {
        var elements: [Element] = []
        var end: Delivery?
        var waiters: [(id: UInt64, continuation: CheckedContinuation<Delivery, Never>)] = []
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
        let (isTaken, waiter) = state.withLock { state -> (Bool, CheckedContinuation<Delivery, Never>?) in
            guard state.end == nil else { return (false, nil) }
            if !state.waiters.isEmpty { return (true, state.waiters.removeFirst().continuation) }
            if state.elements.count >= capacity, overflow == .replacesOldest {
                state.elements.removeFirst()
                state.replaced += 1
            }
            state.elements.append(element)
            return (true, nil)
        }
        waiter?.resume(returning: .element(element))
        return isTaken
    }

    /// Ends the mailbox: once, the first caller's way.
    func end(_ error: TransportError? = nil) {
        let waiters = state.withLock { state in
            guard state.end == nil else { return [] as [CheckedContinuation<Delivery, Never>] }
            state.end = .end(error)
            defer { state.waiters.removeAll() }
            return state.waiters.map { $0.continuation }
        }
        for waiter in waiters { waiter.resume(returning: .end(error)) }
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
        if let element = take() { return element }
        let id = state.withLock { state in
            state.lastWaiter += 1
            return state.lastWaiter
        }
        let delivery = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                wait(id, continuation)
            }
        } onCancel: {
            cancel(id)
        }
        if Task.isCancelled { state.withLock { _ = $0.cancelled.remove(id) } }
        switch delivery {
        case .element(let element): return element
        case .end(let error?): throw error
        case .end(nil): return nil
        }
    }

    private func wait(_ id: UInt64, _ continuation: CheckedContinuation<Delivery, Never>) {
        let (delivery, producerWaits) = state.withLock { state -> (Delivery?, Bool) in
            if state.cancelled.remove(id) != nil { return (.end(nil), false) }
            // Put in since the caller looked, and maybe the producer was told since then that there was no room.
            if let (element, producerWaits) = state.takeFirst() { return (.element(element), producerWaits) }
            if let end = state.end { return (end, false) }
            state.waiters.append((id, continuation))
            return (nil, false)
        }
        if producerWaits { onRoom() }
        if let delivery { continuation.resume(returning: delivery) }
    }

    private func cancel(_ id: UInt64) {
        let waiter = state.withLock { state -> CheckedContinuation<Delivery, Never>? in
            guard let index = state.waiters.firstIndex(where: { $0.id == id }) else {
                // Cancelled before it began to wait, or after it was served; the former finds this note.
                state.cancelled.insert(id)
                return nil
            }
            return state.waiters.remove(at: index).continuation
        }
        waiter?.resume(returning: .end(nil))
    }
}
