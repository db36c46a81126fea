internal import Locking

/// A bounded queue between a thread that produces and the tasks that consume, which ends once.
///
/// ``MailboxMachine`` decides; this keeps it behind a lock, and wakes. A consumer whose task is cancelled receives the end.
final class Mailbox<Element: Sendable>: Sendable {
    typealias Machine = MailboxMachine<Element>

    /// What wakes a waiter; unchecked, as each frame may need one: who takes it out of the state calls it, and nobody else can.
    ///
    /// It brings no value with it: a value goes by way of the lock, which a thread sanitizer sees, and not of the continuation.
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
    private let onTake: (@Sendable (Element, _ isLast: Bool) -> Void)?

    /// Makes an empty mailbox.
    ///
    /// - Parameters:
    ///   - capacity: How much it holds.
    ///   - overflow: What becomes of one more element.
    ///   - onTake: Called with each element that a consumer takes, and whether it was the last one of a mailbox that has ended.
    ///   - onRoom: Called when there is room again for a producer that was told there was none.
    init(
        capacity: Machine.Capacity,
        overflow: Machine.Overflow,
        onTake: (@Sendable (Element, _ isLast: Bool) -> Void)? = nil,
        onRoom: @escaping @Sendable () -> Void = {}
    ) {
        state = Locked(State(machine: Machine(capacity: capacity, overflow: overflow)))
        self.onTake = onTake
        self.onRoom = onRoom
    }

    convenience init(capacity: Int, overflow: Machine.Overflow, onRoom: @escaping @Sendable () -> Void = {}) {
        self.init(capacity: Machine.Capacity(count: capacity), overflow: overflow, onRoom: onRoom)
    }

    // MARK: Producing

    /// How many elements may be put in now, and what those weigh that wait; if none, `onRoom` is called when one may.
    func reserve(onceEmpty: Bool = false) -> (room: Int, waitingWeight: Int) {
        state.withLock { $0.machine.reserve(onceEmpty: onceEmpty) }
    }

    /// How many elements gave way to newer ones.
    var replaced: Int { state.withLock { $0.machine.replaced } }

    /// What the waiting elements weigh.
    var weight: Int { state.withLock { $0.machine.weight } }

    /// How many elements wait.
    var count: Int { state.withLock { $0.machine.count } }

    /// Delivers an element: to the first consumer that waits, or to the queue.
    ///
    /// False once the mailbox has ended. If `more` may follow at once, waiters sleep on until ``wakeWaiters()``.
    @discardableResult
    func put(_ element: Element, weight: Int = 0, more: Bool = false) -> Bool {
        // What gives way is released after the lock: an element's end may come back here.
        let (isAccepted, wake, givenWay) = state.withLock { state in
            let (isAccepted, woken) = state.machine.put(element, weight: weight, more: more)
            return (isAccepted, woken.flatMap { state.takeWake(of: $0) }, state.machine.takeGivenWay())
        }
        withExtendedLifetime(givenWay) {}
        wake?()
        return isAccepted
    }

    /// Wakes the consumers for whom there is something.
    func wakeWaiters() {
        while let wake = state.withLock({ state in state.machine.wakeWaiter().flatMap { state.takeWake(of: $0) } }) {
            wake()
        }
    }

    /// Ends the mailbox: once, the first caller's way.
    func end(_ error: TransportError? = nil) {
        let wakes = state.withLock { state in
            let woken = state.machine.end(error)
            return woken.compactMap { state.takeWake(of: $0) }
        }
        for wake in wakes { wake() }
    }

    /// Throws away what has not been consumed, and ends with `error`; says how much it was.
    @discardableResult
    func discard(_ error: TransportError? = nil) -> Int {
        // Taken out first and released after the lock: an element's end may come back here.
        let (elements, wakes) = state.withLock { state in
            let (elements, woken) = state.machine.discard(error)
            return (elements, woken.compactMap { state.takeWake(of: $0) })
        }
        for wake in wakes { wake() }
        return elements.count
    }

    /// Takes out an element that nobody has consumed.
    func removeFirst(where matches: (Element) -> Bool) -> Element? {
        state.withLock { $0.machine.removeFirst(where: matches) }
    }

    /// Changes every element that nobody has consumed.
    func changeEach(_ change: (inout Element) -> Void) {
        state.withLock { $0.machine.changeEach(change) }
    }

    // MARK: Consuming

    /// Takes an element that is there already.
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
        onTake?(taken.element, taken.isLast)
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
