internal import Locking

/// The current ``ReceiverTerms`` of a connection, readable from any thread and followed by any number of observers.
final class TermsBoard: Sendable {
    private struct Observer {
        weak var object: (any AnyObject & Sendable)?
        let call: @Sendable (ReceiverTerms) -> Void
    }

    private struct State {
        var terms = ReceiverTerms()
        var observers: [Observer] = []
    }

    private let state = Locked(State())

    var terms: ReceiverTerms { state.withLock { $0.terms } }

    /// Calls `call` with the current terms, and with every later snapshot on the connection's thread, as long as
    /// `observer` exists.
    ///
    /// At first two threads may deliver at the same time; the revision shows which snapshot is newer.
    func observe<Object: AnyObject & Sendable>(
        for observer: Object,
        _ call: @escaping @Sendable (Object, ReceiverTerms) -> Void
    ) {
        // An observer whose last other reference goes meanwhile is released outside the lock.
        let (terms, others) = state.withLock { state in
            let others = state.observers.map(\.object)
            state.observers = zip(state.observers, others).filter { $1 != nil }.map(\.0)
            state.observers.append(
                Observer(object: observer) { [weak observer] terms in
                    if let observer { call(observer, terms) }
                }
            )
            return (state.terms, others)
        }
        withExtendedLifetime(others) { call(observer, terms) }
    }

    /// Replaces the terms, and notifies the observers.
    func publish(_ terms: ReceiverTerms) {
        let observers = state.withLock { state in
            state.terms = terms
            return state.observers
        }
        for observer in observers { observer.call(terms) }
    }
}
