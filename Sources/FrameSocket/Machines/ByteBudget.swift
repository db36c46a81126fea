internal import FrameTransport

/// A budget in bytes that refills at the maximum in force.
///
/// What was spent has to be made up for, at 95 % of the maximum, before more is spent, so that no queue forms. It is owed in
/// bytes: how long that takes depends on the maximum when it is asked. A large message could follow two busy seconds all the
/// same, so no more than 4.5 % above the maximum is spent in any two seconds, or a single message that is larger.
///
/// Times are in nanoseconds.
struct ByteBudget: Sendable {
    /// The time in which no more than the maximum is spent.
    private static let window: UInt64 = 2_000_000_000

    /// Messages within this time are one entry, so that there are at most 100.
    private static let grain: UInt64 = 20_000_000

    /// How much of a rate is used, so that a frame that is larger than expected can be made up for.
    static let usage = 0.95

    /// The maximum in bytes a nanosecond; nil if there is none.
    private(set) var rate: Double?

    /// What was owed at a time.
    private var debt = (byteCount: 0.0, at: UInt64(0))

    /// What was spent in the last two seconds, each with the times of its first and last message.
    private var spent: [(from: UInt64, to: UInt64, byteCount: Double)] = []

    /// Changes the maximum: what was too much for the old one is made up for in two seconds at most.
    mutating func follow(_ rate: Double?, at now: UInt64) {
        let owed = owed(at: now)
        self.rate = rate
        debt = (min(owed, (rate ?? 0) * Double(Self.window)), now)
    }

    mutating func spend(_ byteCount: Double, at now: UInt64) {
        debt = (owed(at: now) + byteCount, now)
        spent.removeAll { $0.to.addingClamping(Self.window) <= now }
        if let last = spent.last, now < last.from.addingClamping(Self.grain) {
            spent[spent.count - 1] = (last.from, max(last.to, now), last.byteCount + byteCount)
        } else {
            spent.append((now, max(now, spent.last?.to ?? 0), byteCount))
        }
    }

    /// Returns the earliest time at which so many bytes can be spent.
    func time(for byteCount: Double, after now: UInt64) -> UInt64 {
        guard let limit else { return now }
        let time = max(now, debt.at.addingClamping(duration(of: debt.byteCount)))
        var sum = byteCount
        // From the newest to the oldest: the first that does not fit must have left the window.
        for entry in spent.reversed() {
            sum += entry.byteCount
            if sum > limit { return max(time, entry.to.addingClamping(Self.window)) }
        }
        return time
    }

    /// Returns how many more bytes two seconds have room for.
    func room(at now: UInt64) -> Double {
        guard let limit else { return .infinity }
        return max(0, spent.reduce(limit) { $1.to.addingClamping(Self.window) > now ? $0 - $1.byteCount : $0 })
    }

    /// Returns how long bytes take to be made up for.
    func duration(of byteCount: Double) -> UInt64 { rate.map { UInt64(min(byteCount / ($0 * Self.usage), 1e18)) } ?? 0 }

    private var limit: Double? { rate.map { $0 * Double(Self.window) * 1.045 } }

    private func owed(at now: UInt64) -> Double {
        guard let rate else { return 0 }
        return max(0, debt.byteCount - Double(now.subtractingClamping(debt.at)) * rate * Self.usage)
    }
}

/// What a receiver takes, measured while that is less than it is sent.
struct LinkRate: Sendable {
    /// Bytes a nanosecond; nil while the receiver keeps up.
    private(set) var rate: Double?

    /// The time by which the receiver will have taken what was sent to it.
    private(set) var freeAt: UInt64 = 0

    /// The bytes that were unread when the system was asked last, or were sent since.
    private var untaken = 0
    private var askedAt: UInt64?

    /// Fewer unread bytes are no lag.
    private static let slack = 4_096

    /// A message that takes longer than this has waited for the receiver, in nanoseconds.
    private static let longestWrite: UInt64 = 20_000_000

    /// The shortest time to measure over, in nanoseconds.
    private static let shortestTime: UInt64 = 2_000_000

    /// How much faster a receiver that keeps up is assumed to be with every frame.
    private static let growth = 1.15

    /// The rate from which a receiver is as good as unlimited: 1 GB/s.
    private static let highest = 1.0

    /// Notes that a message is sent.
    mutating func submitted(_ byteCount: Double, at now: UInt64) {
        freeAt = max(freeAt, now).addingClamping(duration(of: byteCount))
    }

    /// Notes that the system has accepted all of it: a JPEG in a message.
    mutating func sent(_ byteCount: Int, of messageByteCount: Int, in duration: UInt64) {
        untaken += byteCount
        // Where the system tells what is unread, that says more.
        guard askedAt == nil else { return }
        // The socket takes some of it at once, so that this is more than the receiver takes: the next message corrects it.
        if duration > Self.longestWrite { measure(messageByteCount, in: duration) } else { grow() }
    }

    /// Notes how many bytes are unread.
    mutating func sample(unread: Int, at now: UInt64) {
        let (taken, elapsed) = (untaken - unread, askedAt.map { now.subtractingClamping($0) })
        let isMeasurable = elapsed ?? 0 >= Self.shortestTime && taken > 0
        let lags = unread > Self.slack
        if lags, isMeasurable, let elapsed { measure(taken, in: elapsed) }
        if !lags { grow() }
        if !lags || isMeasurable || elapsed == nil { (askedAt, untaken) = (now, unread) }
        guard lags else { return }
        let time = rate == nil ? Self.shortestTime : duration(of: Double(unread))
        freeAt = max(freeAt, now.addingClamping(time))
    }

    /// Returns how long bytes take; a receiver that took nothing for a while may take more by now.
    func duration(of byteCount: Double) -> UInt64 {
        rate.map { UInt64(min(byteCount / ($0 * ByteBudget.usage), 1e9)) } ?? 0
    }

    private mutating func measure(_ byteCount: Int, in duration: UInt64) {
        let new = Double(byteCount) / Double(duration)
        rate = rate.map { ($0 + new) / 2 } ?? new
    }

    private mutating func grow() {
        rate = rate.flatMap { $0 * Self.growth < Self.highest ? $0 * Self.growth : nil }
    }
}
