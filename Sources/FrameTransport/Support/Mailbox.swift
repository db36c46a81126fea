internal import Locking

/// A bounded queue between a thread that produces and the tasks that consume, which ends once.
///
/// ``MailboxMachine`` decides; this class keeps it behind a lock, and wakes consumers. A consumer whose task is
/// cancelled receives the end.
final class Mailbox<Element: Sendable>: Sendable {
    typealias Machine = MailboxMachine<Element, Wake>

    /// Wakes a consumer, with an unchecked continuation because every frame may need one.
    ///
    /// The code that takes it out of the state calls it, and no other code can.
    ///
    /// It carries no value: values are passed through the lock, which a thread sanitizer sees, and not through the
    /// continuation.
    @safe struct Wake: Sendable {
        private let continuation: UnsafeContinuation<Void, Never>

        fileprivate init(_ continuation: UnsafeContinuation<Void, Never>) {
            unsafe self.continuation = continuation
        }

        func callAsFunction() { unsafe continuation.resume() }
    }

    private let machine: Locked<Machine>
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
        machine = Locked(Machine(capacity: capacity, overflow: overflow))
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
        machine.withLock { $0.reserve(onceEmpty: onceEmpty) }
    }

    /// The number of elements replaced by newer ones.
    var replaced: Int { machine.withLock { $0.replaced } }

    /// The weight of the waiting elements.
    var weight: Int { machine.withLock { $0.weight } }

    /// The error with which it has ended, if it has.
    var error: TransportError? { machine.withLock { $0.error } }

    /// The number of waiting elements.
    var count: Int { machine.withLock { $0.count } }

    /// Whether an element waits, or was discarded; true before ``discard(_:)`` has told of what it takes out.
    var hasUntaken: Bool { machine.withLock { $0.hasUntaken } }

    /// Delivers an element: to the first consumer that waits, or to the queue.
    ///
    /// Returns false once the mailbox has ended. If `more` may follow at once, waiters stay suspended until
    /// ``wakeWaiters()``.
    @discardableResult
    func put(_ element: Element, weight: Int = 0, more: Bool = false) -> Bool {
        // Those that leave are released outside the lock: an element's deinitializer may call back.
        let (isAccepted, wake, givenWay) = machine.withLock { machine in
            let (isAccepted, woken) = machine.put(element, weight: weight, more: more)
            return (isAccepted, woken, machine.takeGivenWay())
        }
        for element in givenWay { onLeave?(element, isAccepted ? .replaced : .discarded) }
        wake?()
        return isAccepted
    }

    /// Resumes the consumers for which there are elements.
    func wakeWaiters() {
        while let wake = machine.withLock({ $0.wakeWaiter() }) { wake() }
    }

    /// Ends the mailbox; only the first call has an effect.
    func end(_ error: TransportError? = nil) {
        for wake in machine.withLock({ $0.end(error) }) { wake() }
    }

    /// Discards unconsumed elements, ends with `error`, and returns their number.
    @discardableResult
    func discard(_ error: TransportError? = nil) -> Int {
        // Taken out first and released outside the lock: an element's deinitializer may call back.
        let (elements, wakes) = machine.withLock { $0.discard(error) }
        for wake in wakes { wake() }
        for element in elements { onLeave?(element, .discarded) }
        return elements.count
    }

    /// Removes the first waiting element that `matches`, if more than `count` of them do.
    func removeFirst(beyond count: Int, where matches: (Element) -> Bool) -> Element? {
        machine.withLock { $0.removeFirst(beyond: count, where: matches) }
    }

    // MARK: Consuming

    /// Takes an available element.
    func take() -> Element? {
        guard case .element(let element, let mustCall, let isLast) = machine.withLock({ $0.take() }) else { return nil }
        leave(element, mustCallProducer: mustCall, isLast: isLast)
        return element
    }

    /// Waits for the next element; nil at the end, or if the task is cancelled.
    func next() async throws(TransportError) -> Element? {
        if Task.isCancelled { return nil }
        if let element = take() { return element }
        return try await wait()
    }

    /// Waits for the next element, of which there is none at present.
    func wait() async throws(TransportError) -> Element? {
        while true {
            await withTaskCancellationHandler {
                await unsafe withUnsafeContinuation { continuation in
                    let wake = unsafe Wake(continuation)
                    // A task that is cancelled after this finds its continuation among the waiters.
                    if !machine.withLock({ $0.wait(wake, isCancelled: Task.isCancelled) }) { wake() }
                }
            } onCancel: {
                // The others look, and wait again.
                for wake in machine.withLock({ $0.wakeAll() }) { wake() }
            }
            switch machine.withLock({ $0.take(wasWoken: true) }) {
            case .element(let element, let mustCall, let isLast):
                leave(element, mustCallProducer: mustCall, isLast: isLast)
                return element
            case .end(let error?): throw error
            case .end(nil): return nil
            case .nothing: if Task.isCancelled { return nil }
            }
        }
    }

    private func leave(_ element: Element, mustCallProducer: Bool, isLast: Bool) {
        if mustCallProducer { onRoom() }
        onLeave?(element, .taken(isLast: isLast))
    }
}
