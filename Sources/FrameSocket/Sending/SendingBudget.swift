/// The memory that frames may take which wait or are under way.
struct SendingBudget: Sendable {
    private let limit: Int
    private var underWay = 0

    init(_ limit: Int?) {
        self.limit = limit ?? .max
    }

    /// Whether a frame may wait beside the one under way, and be encoded after it.
    ///
    /// A frame that waits in its place now will be gone by then.
    func allows(_ need: MemoryNeed) -> Bool {
        need.total <= limit && need.content <= limit - underWay
    }

    /// Notes that the frame under way has been taken up.
    mutating func begin(_ need: MemoryNeed) {
        underWay = need.total
    }

    /// Notes that its content is no longer needed, for it has been encoded.
    mutating func releaseContent(_ need: MemoryNeed) {
        underWay = need.total - need.content
    }

    /// Notes that nothing is under way.
    mutating func end() {
        underWay = 0
    }
}

/// The bytes that a frame takes.
struct MemoryNeed: Sendable {
    /// While it waits.
    let content: Int
    /// At most, while it is encoded; no less than ``content``.
    let total: Int
    /// Whether strips are kept for the next frame, and counted.
    let keepsStrips: Bool

    init(content: Int, total: Int, keepsStrips: Bool = false) {
        (self.content, self.total, self.keepsStrips) = (content, total, keepsStrips)
    }
}
