/// Which difficulties an uploader has, from single events that show one, with hysteresis.
struct ConditionWatch: Sendable {
    typealias Conditions = SampleUploader.Conditions

    /// When a difficulty was first met, and last, with no long pause in between.
    private struct Evidence: Sendable {
        let condition: Conditions
        var first: UInt64?
        var last: UInt64 = 0
    }

    private var evidence: [Evidence] = [.receiverSlow, .budgetLow, .encoderSlow].map {
        Evidence(condition: $0)
    }

    /// What has been met since the last update.
    private var met: Conditions = []

    /// Whether there is any difficulty, or any that may begin or end.
    private(set) var isActive = false

    /// How long a difficulty is met until it begins, in nanoseconds.
    private static let patience: UInt64 = 1_000_000_000

    /// How long one is not met until it ends.
    private static let relief: UInt64 = 2_000_000_000

    mutating func note(_ condition: Conditions) {
        met.formUnion(condition)
        isActive = true
    }

    /// Returns the difficulties that there are now.
    ///
    /// - Parameters:
    ///   - lasting: The one that has not ended, if it has begun.
    ///   - now: The time.
    /// - Returns: The difficulties.
    mutating func update(lasting: Conditions? = nil, at now: UInt64) -> Conditions {
        guard isActive else { return [] }
        var current: Conditions = []
        for index in evidence.indices {
            let condition = evidence[index].condition
            if evidence[index].first != nil, lasting == condition {
                evidence[index].last = max(evidence[index].last, now)
            } else if evidence[index].first != nil, now >= evidence[index].last.addingClamping(Self.relief) {
                evidence[index].first = nil
            }
            if met.contains(condition) {
                evidence[index].first = evidence[index].first ?? now
                evidence[index].last = max(evidence[index].last, now)
            }
            guard let first = evidence[index].first else { continue }
            if evidence[index].last >= first.addingClamping(Self.patience) { current.insert(condition) }
        }
        met = []
        isActive = evidence.contains { $0.first != nil }
        return current
    }

    /// The time at which the next difficulty may end; nil if there is none.
    var deadline: UInt64? {
        evidence.compactMap { $0.first == nil ? nil : $0.last.addingClamping(Self.relief) }.min()
    }
}
