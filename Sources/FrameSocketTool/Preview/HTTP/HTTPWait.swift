internal import CMicroHTTPD
import Locking

/// A request whose answer waits for something: the server leaves its connection alone until then.
///
/// A client that leaves meanwhile is noticed when the wait is over, so whoever creates one has to limit it.
@safe final class HTTPWait: Sendable {
    /// - Note: `@unchecked Sendable` holds because the library resumes a connection from any thread.
    @safe private enum State: @unchecked Sendable {
        /// Not begun: the server has yet to suspend the connection.
        case ready
        case waiting(OpaquePointer)
        case over
    }

    private let state = Locked(State.ready)
    private let released: @Sendable (HTTPWait) -> Void

    /// Creates a wait that calls `released` when its request has been answered, or never will be.
    init(released: @escaping @Sendable (HTTPWait) -> Void) {
        self.released = released
    }

    /// Ends the wait, so that the request is answered now.
    ///
    /// It has no effect on one that has ended.
    func wake() {
        state.withLock { state in
            if case .waiting(let connection) = state { unsafe microhttpd_resume(connection) }
            state = .over
        }
    }

    // MARK: On the server's thread

    /// Suspends the connection of the request; returns false if the wait is over already.
    func begin(on connection: OpaquePointer) -> Bool {
        // Within the lock, so that whoever ends the wait finds the connection suspended, or prevents it.
        state.withLock { state in
            guard case .ready = state else { return false }
            unsafe microhttpd_suspend(connection)
            state = unsafe .waiting(connection)
            return true
        }
    }

    /// Handles the end of the request; the connection must not be used any more.
    func end() {
        state.withLock { $0 = .over }
        released(self)
    }
}
