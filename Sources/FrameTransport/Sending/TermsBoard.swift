internal import Locking

/// The current ``ReceiverTerms`` of a connection, readable from any thread and followed by one observer.
final class TermsBoard: Sendable {
    private struct State {
        var terms = ReceiverTerms()
        var observer: (@Sendable (ReceiverTerms) -> Void)?
    }

    private let state = Locked(State())

    var terms: ReceiverTerms { state.withLock { $0.terms } }

    /// Calls `observer` with the current terms, and with every later snapshot on the connection's thread.
    ///
    /// At first two threads may deliver at the same time; the revision shows which snapshot is newer.
    func observe(_ observer: @escaping @Sendable (ReceiverTerms) -> Void) {
        let terms = state.withLock { state in
            state.observer = observer
            return state.terms
        }
        observer(terms)
    }

    /// Replaces the terms, and notifies the observer.
    func publish(_ terms: ReceiverTerms) {
        let observer = state.withLock { state in
            state.terms = terms
            return state.observer
        }
        observer?(terms)
    }
}
