/// Which difficulties an uploader has, from single events that show one, with hysteresis.
struct ConditionWatch: Sendable {
    typealias Conditions = SampleUploader.Conditions

    /// When each difficulty was first met, and last, with no long pause in between.
    private var times: [Conditions: (first: UInt64, last: UInt64)] = [:]

    /// What has been met since the last update.
    private var met: Conditions = []

    /// How long a difficulty is met until it begins, in nanoseconds.
    private static let patience: UInt64 = 1_000_000_000

    /// How long one is not met until it ends.
    private static let relief: UInt64 = 2_000_000_000

    /// Whether there is any difficulty, or any that may begin or end.
    var isActive: Bool { !met.isEmpty || !times.isEmpty }

    mutating func note(_ condition: Conditions) { met.formUnion(condition) }

    /// Returns the difficulties that there are now.
    ///
    /// - Parameters:
    ///   - lasting: The one that has not ended, if it has begun.
    ///   - now: The time.
    /// - Returns: The difficulties.
    mutating func update(lasting: Conditions? = nil, at now: UInt64) -> Conditions {
        times = times.filter { $0.key == lasting || now < $0.value.last.addingClamping(Self.relief) }
        if let lasting, times[lasting] != nil { met.insert(lasting) }
        for condition in Conditions.all where met.contains(condition) {
            let (first, last) = times[condition] ?? (now, now)
            times[condition] = (first, max(last, now))
        }
        met = []
        return times.reduce(into: []) { current, met in
            if met.value.last >= met.value.first.addingClamping(Self.patience) { current.insert(met.key) }
        }
    }

    /// The time at which the next difficulty may end; nil if there is none.
    var deadline: UInt64? { times.values.map { $0.last.addingClamping(Self.relief) }.min() }
}
