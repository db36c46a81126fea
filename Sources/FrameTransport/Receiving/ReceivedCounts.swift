/// What the connections of one server count together.
struct ReceivedCounts: Sendable {
    /// The frames that the program has taken, and the bytes of their bodies.
    let frames = Counter()
    let bytes = Counter()
    /// The frames that have arrived, and were discarded.
    let discarded = Counter()
    /// The frames that could not be decoded.
    let undecodable = Counter()
    /// The frames of ended connections that newer ones replaced.
    let superseded = Counter()
}
