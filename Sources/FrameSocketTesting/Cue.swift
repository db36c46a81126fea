internal import Locking

/// A signal that one task gives once and others wait for, for example between a test and the script of its peer.
public final class Cue: Sendable, CustomStringConvertible {
    private struct State: ~Copyable {
        var isGiven = false
        var waiting: [UInt64: CheckedContinuation<Bool, Never>] = [:]
        var nextKey: UInt64 = 0
    }

    /// What the cue means, for error messages.
    public let description: String

    private let state = Locked(State())

    /// Creates a cue that nobody has given yet.
    public init(_ description: String = "cue") {
        self.description = description
    }

    /// Whether the cue has been given.
    public var isGiven: Bool { state.withLock { $0.isGiven } }

    /// Lets everybody continue who waits for the cue, now or later.
    public func give() {
        let waiting = state.withLock { state in
            state.isGiven = true
            defer { state.waiting = [:] }
            return state.waiting
        }
        for continuation in waiting.values { continuation.resume(returning: true) }
    }

    /// Waits until the cue is given.
    ///
    /// - Throws: `cancelled` if the calling task is cancelled first.
    public func wait() async throws(PeerError) {
        let key = state.withLock { state in
            state.nextKey += 1
            return state.nextKey
        }
        let isGiven = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let answer: Bool? = state.withLock { state in
                    if state.isGiven { return true }
                    // A cancellation that came before is seen here; one that comes later finds the continuation.
                    if Task.isCancelled { return false }
                    state.waiting[key] = continuation
                    return nil
                }
                if let answer { continuation.resume(returning: answer) }
            }
        } onCancel: {
            state.withLock { $0.waiting.removeValue(forKey: key) }?.resume(returning: false)
        }
        guard isGiven else { throw PeerError(.cancelled, "waiting for '\(description)' was cancelled") }
    }
}
