internal import FrameTransport

/// Who waits in ``SampleUploader/finish()``; few at a time.
struct FinishWaiters: Sendable {
    typealias Continuation = CheckedContinuation<Result<Void, TransportError>, Never>

    private var lastID: UInt64 = 0
    private var continuations: [(id: UInt64, continuation: Continuation)] = []

    mutating func nextID() -> UInt64 {
        lastID += 1
        return lastID
    }

    mutating func add(_ continuation: Continuation, _ id: UInt64) {
        continuations.append((id, continuation))
    }

    /// Whoever takes a continuation resumes it; nil if that has been done.
    mutating func take(_ id: UInt64) -> Continuation? {
        continuations.firstIndex { $0.id == id }.map { continuations.remove(at: $0).continuation }
    }
}
