/// Which difficulties an uploader has, from single events that show one, with hysteresis.
struct ConditionWatch: Sendable {
    typealias Conditions = SampleUploader.Conditions

    /// When each difficulty was first met, and last, with no long pause in between.
    private var times: [Conditions: (first: UInt64, last: UInt64)] = [:]

    /// How long a difficulty is met until it begins, in nanoseconds.
    private static let patience: UInt64 = 1_000_000_000

    /// How long one is not met until it ends.
    private static let relief: UInt64 = 2_000_000_000

    /// Whether there is any difficulty, or any that may begin or end.
    var isActive: Bool { !times.isEmpty }

    mutating func note(_ condition: Conditions, at now: UInt64) {
        forget(at: now)
        let (first, last) = times[condition] ?? (now, now)
        times[condition] = (first, max(last, now))
    }

    /// Returns the difficulties that there are now, of which one may last although it was not met again.
    mutating func update(lasting: Conditions? = nil, at now: UInt64) -> Conditions {
        if let lasting, let first = times[lasting]?.first { times[lasting] = (first, now) }
        forget(at: now)
        return times.reduce(into: []) { current, met in
            if met.value.last >= met.value.first.addingClamping(Self.patience) { current.insert(met.key) }
        }
    }

    private mutating func forget(at now: UInt64) {
        times = times.filter { now < $0.value.last.addingClamping(Self.relief) }
    }

    /// The time at which the next difficulty may end; nil if there is none.
    var deadline: UInt64? { times.values.map { $0.last.addingClamping(Self.relief) }.min() }
}
