/// What the connections of one server count together.
struct ReceivedCounts: Sendable {
    /// The frames that have arrived, and the bytes of their bodies.
    let frames = Counter()
    let bytes = Counter()
    /// The frames that could not be decoded.
    let undecodable = Counter()
    /// The frames of ended connections that newer ones replaced.
    let superseded = Counter()
}
