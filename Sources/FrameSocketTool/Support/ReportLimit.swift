/// How often a person is told of the same kind of thing: a few times at once, then at a rate.
///
/// Whatever a peer repeats, its messages stay readable, and leave room for those about others.
struct ReportLimit {
    private var tokens: Double
    private let burst: Double
    private let perSecond: Double
    private var last: UInt64?
    /// The number of messages that were left out since the last one.
    private(set) var omitted = 0

    /// Creates a limit.
    ///
    /// - Parameters:
    ///   - burst: How many messages may come at once.
    ///   - perSecond: How many more may come each second.
    init(burst: Int, perSecond: Double) {
        tokens = Double(burst)
        self.burst = Double(burst)
        self.perSecond = perSecond
    }

    /// Whether a message would be admitted at `now`, in nanoseconds of the monotonic clock.
    mutating func hasRoom(at now: UInt64) -> Bool {
        if let last, now > last { tokens = min(burst, tokens + Double(now - last) / 1e9 * perSecond) }
        last = max(now, last ?? now)
        return tokens >= 1
    }

    /// Admits a message; returns how many have been left out since the last one.
    mutating func admit() -> Int {
        defer { omitted = 0 }
        tokens -= 1
        return omitted
    }

    /// Counts a message that was left out.
    mutating func omit() {
        omitted += 1
    }
}
