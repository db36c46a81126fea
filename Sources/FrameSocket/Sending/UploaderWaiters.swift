internal import FrameTransport

/// The callers waiting in ``SampleUploader/finish()`` and ``SampleUploader/waitForBuffer()``; few at a time.
///
/// Not a latch each: for a program that waits for every frame, generic code of another module would cost 7,000
/// instructions a frame.
struct UploaderWaiters: Sendable {
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

    /// Removes a continuation, which the caller must resume; nil if it was already taken.
    mutating func take(_ id: UInt64) -> Continuation? {
        continuations.firstIndex { $0.id == id }.map { continuations.remove(at: $0).continuation }
    }
}
