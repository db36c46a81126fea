/// What the server remembers of a request until it has been answered; used on the server's thread only.
final class HTTPExchange {
    private enum State {
        /// Its body, if it has one, is being read and ignored.
        case receiving
        case waiting(HTTPWait)
        case answering((@Sendable () -> Void)?)
    }

    private var state = State.receiving

    /// Waits for what `wait` returns, if anything, but only once; returns whether `begin` has suspended the connection.
    func waits(for wait: () -> HTTPWait?, begin: (HTTPWait) -> Bool) -> Bool {
        if case .receiving = state, let wait = wait() {
            state = .waiting(wait)
            if begin(wait) { return true }
        }
        endWait()
        return false
    }

    /// Records that an answer is on its way.
    func answer(_ response: HTTPResponse) {
        state = .answering(response.finished)
    }

    /// Handles the end of the request, answered or not.
    func end() {
        endWait()
        if case .answering(let finished) = state { finished?() }
        state = .answering(nil)
    }

    private func endWait() {
        guard case .waiting(let wait) = state else { return }
        state = .answering(nil)
        wait.end()
    }
}
