internal import Locking

/// The frames that a program has taken, and the bytes of their bodies, for other threads to read.
final class TakenFrames: Sendable {
    private let counts = Locked((frames: 0, bytes: UInt64(0)))

    var value: (frames: Int, bytes: UInt64) { counts.withLock { $0 } }

    func add(byteCount: Int) {
        counts.withLock { $0 = ($0.frames + 1, $0.bytes + UInt64(clamping: byteCount)) }
    }
}

/// What the connections of one server count together.
struct ReceivedCounts: Sendable {
    /// The frames that the program has taken.
    let taken = TakenFrames()
    /// The frames that have arrived, and were discarded.
    let discarded = Counter()
    /// The frames that could not be decoded.
    let undecodable = Counter()
    /// The frames of ended connections that newer ones replaced.
    let superseded = Counter()
}
