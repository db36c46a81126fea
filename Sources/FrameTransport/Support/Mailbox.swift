internal import Locking

/// A bounded queue between a thread that produces and the tasks that consume, which ends once.
///
/// ``MailboxMachine`` decides; this class keeps it behind a lock, and resumes waiters. A consumer whose task is
/// cancelled receives the end.
final class Mailbox<Element: Sendable>: Sendable {
    typealias Machine = MailboxMachine<Element>

    /// Resumes a waiter, with an unchecked continuation because every frame may need one.
    ///
    /// The code that takes it out of the state calls it, and no other code can.
    ///
    /// It carries no value: values are passed through the lock, which a thread sanitizer sees, and not through the
    /// continuation.
    @safe private struct Wake: Sendable {
        private let continuation: UnsafeContinuation<Void, Never>

        init(_ continuation: UnsafeContinuation<Void, Never>) {
            unsafe self.continuation = continuation
        }

        func callAsFunction() { unsafe continuation.resume() }
    }

    private struct State {
        var machine: Machine
        var wakes: [(waiter: UInt64, wake: Wake)] = []

        mutating func takeWake(of waiter: UInt64) -> Wake? {
            guard let index = wakes.firstIndex(where: { $0.waiter == waiter }) else { return nil }
            wakes.swapAt(index, wakes.endIndex - 1)
            return wakes.removeLast().wake
        }
    }

    private let state: Locked<State>
    private let onRoom: @Sendable () -> Void
    /// How an element leaves a mailbox.
    enum Leave: Sendable, Hashable {
        /// A consumer takes it, as the last one of a mailbox that has ended or not.
        case taken(isLast: Bool)
        /// A newer one takes its place.
        case replaced
        /// It is discarded, or came too late.
        case discarded
    }

    private let onLeave: (@Sendable (Element, Leave) -> Void)?

    /// Creates an empty mailbox.
    ///
    /// - Parameters:
    ///   - capacity: The capacity.
    ///   - overflow: What happens to an element that exceeds the capacity.
    ///   - onLeave: Called with every element that leaves.
    ///   - onRoom: Called when there is room again, after a producer found none.
    init(
        capacity: Machine.Capacity,
        overflow: Machine.Overflow,
        onLeave: (@Sendable (Element, Leave) -> Void)? = nil,
        onRoom: @escaping @Sendable () -> Void = {}
    ) {
        state = Locked(State(machine: Machine(capacity: capacity, overflow: overflow)))
        self.onLeave = onLeave
        self.onRoom = onRoom
    }

    convenience init(capacity: Int, overflow: Machine.Overflow, onRoom: @escaping @Sendable () -> Void = {}) {
        self.init(capacity: Machine.Capacity(count: capacity), overflow: overflow, onRoom: onRoom)
    }

    // MARK: Producing

    /// Returns how many elements may be added now, and the weight of those waiting; if none may, `onRoom` is called
    /// once one may.
    func reserve(onceEmpty: Bool = false) -> (room: Int, waitingWeight: Int) {
        state.withLock { $0.machine.reserve(onceEmpty: onceEmpty) }
    }

    /// The number of elements replaced by newer ones.
    var replaced: Int { state.withLock { $0.machine.replaced } }

    /// The weight of the waiting elements.
    var weight: Int { state.withLock { $0.machine.weight } }

    /// The error with which it has ended, if it has.
    var error: TransportError? { state.withLock { $0.machine.error } }

    /// The number of waiting elements.
    var count: Int { state.withLock { $0.machine.count } }

    /// Whether an element waits, or was discarded; true before ``discard(_:)`` has told of what it takes out.
    var hasUntaken: Bool { state.withLock { $0.machine.hasUntaken } }

    /// Delivers an element: to the first consumer that waits, or to the queue.
    ///
    /// Returns false once the mailbox has ended. If `more` may follow at once, waiters stay suspended until
    /// ``wakeWaiters()``.
    @discardableResult
    func put(_ element: Element, weight: Int = 0, more: Bool = false) -> Bool {
        // Replaced elements are released outside the lock: an element's deinitializer may call back.
        let (isAccepted, wake, givenWay) = state.withLock { state in
            let (isAccepted, woken) = state.machine.put(element, weight: weight, more: more)
            return (isAccepted, woken.flatMap { state.takeWake(of: $0) }, state.machine.takeGivenWay())
        }
        for replaced in givenWay { onLeave?(replaced, .replaced) }
        if !isAccepted { onLeave?(element, .discarded) }
        wake?()
        return isAccepted
    }

    /// Resumes the consumers for which there are elements.
    func wakeWaiters() {
        while let wake = state.withLock({ state in state.machine.wakeWaiter().flatMap { state.takeWake(of: $0) } }) {
            wake()
        }
    }

    /// Ends the mailbox; only the first call has an effect.
    func end(_ error: TransportError? = nil) {
        let wakes = state.withLock { state in
            let woken = state.machine.end(error)
            return woken.compactMap { state.takeWake(of: $0) }
        }
        for wake in wakes { wake() }
    }

    /// Discards unconsumed elements, ends with `error`, and returns their number.
    @discardableResult
    func discard(_ error: TransportError? = nil) -> Int {
        // Taken out first and released outside the lock: an element's deinitializer may call back.
        let (elements, wakes) = state.withLock { state in
            let (elements, woken) = state.machine.discard(error)
            return (elements, woken.compactMap { state.takeWake(of: $0) })
        }
        for wake in wakes { wake() }
        for element in elements { onLeave?(element, .discarded) }
        return elements.count
    }

    /// Removes an unconsumed element.
    func removeFirst(where matches: (Element) -> Bool) -> Element? {
        state.withLock { $0.machine.removeFirst(where: matches) }
    }

    // MARK: Consuming

    /// Takes an available element.
    func take() -> Element? {
        state.withLock { $0.machine.take() }.map { consumed($0) }
    }

    /// Waits for the next element; nil at the end, or if the task is cancelled.
    func next(isolation: isolated (any Actor)? = #isolation) async throws(TransportError) -> Element? {
        if Task.isCancelled { return nil }
        let (first, waiter) = state.withLock { state in
            let first = state.machine.take()
            return (first, first == nil ? state.machine.makeWaiter() : 0)
        }
        if let first { return consumed(first) }
        await withTaskCancellationHandler {
            await unsafe withUnsafeContinuation { continuation in
                wait(waiter, unsafe Wake(continuation))
            }
        } onCancel: {
            cancel(waiter)
        }
        switch state.withLock({ $0.machine.takeDelivery(for: waiter) }) {
        case .element(let element): return consumed(element)
        case .end(let error?): throw error
        case .end(nil): return nil
        }
    }

    private func consumed(_ taken: Machine.Taken) -> Element {
        if taken.mustCallProducer { onRoom() }
        onLeave?(taken.element, .taken(isLast: taken.isLast))
        return taken.element
    }

    private func wait(_ waiter: UInt64, _ wake: Wake) {
        let isServed = state.withLock { state in
            if state.machine.wait(waiter) { return true }
            state.wakes.append((waiter, wake))
            return false
        }
        if isServed { wake() }
    }

    private func cancel(_ waiter: UInt64) {
        let wake = state.withLock { state -> Wake? in
            state.machine.cancel(waiter) ? state.takeWake(of: waiter) : nil
        }
        wake?()
    }
}
