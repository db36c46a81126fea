internal import Locking

/// The current ``ReceiverTerms`` of a connection, for any thread to read and for one observer to follow.
final class TermsBoard: Sendable {
    private struct State {
        var terms = ReceiverTerms()
        var observer: (@Sendable (ReceiverTerms) -> Void)?
    }

    private let state = Locked(State())

    var terms: ReceiverTerms { state.withLock { $0.terms } }

    /// Calls `observer` with the current terms, and with every later snapshot on the connection's thread.
    ///
    /// Two threads may deliver at the same time at first; the revision tells which snapshot is newer.
    func observe(_ observer: @escaping @Sendable (ReceiverTerms) -> Void) {
        let terms = state.withLock { state in
            state.observer = observer
            return state.terms
        }
        observer(terms)
    }

    /// Replaces the terms, and tells the observer.
    func publish(_ terms: ReceiverTerms) {
        let observer = state.withLock { state in
            state.terms = terms
            return state.observer
        }
        observer?(terms)
    }
}
