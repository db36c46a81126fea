internal import FrameWire
internal import Locking

/// The receiver's requests, over successive connections, readable from any thread.
final class ControlState: Sendable {
    private struct State {
        var hello: ControlRequest.Hello?
        var skippedRequests = 0
        var wasAskedToStop = false
    }

    let requests = Mailbox<ControlRequest>(capacity: 16, overflow: .replacesOldest)
    private let state = Locked(State())

    /// The receiver's hello; nil if it sent none, as plain receivers do not.
    var hello: ControlRequest.Hello? { state.withLock { $0.hello } }

    /// The number of requests that were not understood.
    var skippedRequests: Int { state.withLock { $0.skippedRequests } }

    /// Whether the receiver has requested the end.
    var wasAskedToStop: Bool { state.withLock { $0.wasAskedToStop } }

    /// Keeps a request for its consumers.
    func note(_ request: ControlRequest) {
        if case .stop(let reason) = request, reason.isOrderly { state.withLock { $0.wasAskedToStop = true } }
        requests.put(request)
    }

    func note(_ hello: ControlRequest.Hello?) {
        state.withLock { $0.hello = hello }
    }

    func skip() {
        state.withLock { $0.skippedRequests += 1 }
    }
}
