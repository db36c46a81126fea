internal import FrameTransport

/// How many bytes a receiver takes, measured while it takes less than it is sent.
struct LinkRate: Sendable {
    /// Bytes a nanosecond; nil while the receiver keeps up.
    private(set) var rate: Double?

    /// The last look at what was unread, and the bytes that were sent since.
    private var last: (at: UInt64, unread: Int)?
    private var sentSince = 0
    private var tellsUnread = false

    /// Fewer unread bytes are no lag.
    private static let slack = 4_096

    /// A message that takes longer than this has waited for the receiver, in nanoseconds.
    private static let longestWrite: UInt64 = 20_000_000

    /// The shortest time to measure over, in nanoseconds.
    private static let shortestTime: UInt64 = 2_000_000

    /// How much faster a receiver that keeps up is assumed to be with every frame.
    private static let growth = 1.15

    /// The longest time to wait for a receiver that has been slow, in nanoseconds.
    static let longestWait: UInt64 = 1_000_000_000

    /// The rate from which a receiver is as good as unlimited: 1 GB/s.
    private static let highest = 1.0

    /// Notes that the system has accepted a message.
    mutating func sent(_ byteCount: Int, in duration: UInt64) {
        sentSince += byteCount
        guard !tellsUnread else { return }
        // The socket takes some of it at once, so that this is more than the receiver takes: the next message corrects it.
        if duration > Self.longestWrite { measure(Double(byteCount) / Double(duration)) } else { grow() }
    }

    /// Notes how many bytes are unread; nil if the system does not tell.
    ///
    /// - Returns: The time at which the receiver will have read them; nil if it keeps up.
    mutating func sample(unread: Int?, at now: UInt64) -> UInt64? {
        guard let unread else { return nil }
        tellsUnread = true
        let before = last
        let read = (before?.unread ?? 0) + sentSince - unread
        guard unread > Self.slack else {
            (last, sentSince) = ((now, unread), 0)
            grow()
            return nil
        }
        guard let before, now >= before.at + Self.shortestTime, read > 0 else {
            if before == nil { (last, sentSince) = ((now, unread), 0) }
            return now.addingClamping(time(for: unread))
        }
        (last, sentSince) = ((now, unread), 0)
        measure(Double(read) / Double(now - before.at))
        return now.addingClamping(time(for: unread))
    }

    private func time(for byteCount: Int) -> UInt64 {
        rate.map { UInt64(min(Double(byteCount) / $0, Double(Self.longestWait))) } ?? Self.shortestTime
    }

    private mutating func measure(_ new: Double) {
        rate = rate.map { ($0 + new) / 2 } ?? new
    }

    private mutating func grow() {
        rate = rate.flatMap { $0 * Self.growth < Self.highest ? $0 * Self.growth : nil }
    }
}
