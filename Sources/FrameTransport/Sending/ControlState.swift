internal import FrameWire
internal import Locking

/// What the receiver has asked of the sender, on one connection after the other, for any thread to read.
final class ControlState: Sendable {
    private struct State {
        var hello: ControlHello?
        var skippedRequests = 0
        var wasAskedToStop = false
    }

    let requests = Mailbox<ControlRequest>(capacity: 16, overflow: .replacesOldest)
    private let state = Locked(State())

    /// How the receiver introduced itself; nil if it did not, as no plain one does.
    var hello: ControlHello? { state.withLock { $0.hello } }

    /// How many requests were not understood.
    var skippedRequests: Int { state.withLock { $0.skippedRequests } }

    /// Whether the receiver has asked for the end.
    var wasAskedToStop: Bool { state.withLock { $0.wasAskedToStop } }

    /// Keeps a request for those who handle it.
    func note(_ request: ControlRequest) {
        if case .stop(let reason) = request, reason.isOrderly { state.withLock { $0.wasAskedToStop = true } }
        requests.put(request)
    }

    func note(_ hello: ControlHello?) {
        state.withLock { $0.hello = hello }
    }

    func skip() {
        state.withLock { $0.skippedRequests += 1 }
    }
}
