internal import FrameTransport

/// The bytes that were sent in the last two seconds.
struct ByteWindow: Sendable {
    /// The length of the window in nanoseconds.
    static let length: UInt64 = 2_000_000_000

    /// Messages within this time are one entry, at the time of the last, so that there are at most 100.
    private static let grain: UInt64 = 20_000_000

    private var entries: [(beganAt: UInt64, at: UInt64, byteCount: Int)] = []

    /// Adds bytes that are sent now.
    mutating func add(_ byteCount: Int, at now: UInt64) {
        entries.removeAll { $0.at.addingClamping(Self.length) <= now }
        if let last = entries.last, now < last.beganAt.addingClamping(Self.grain) {
            entries[entries.count - 1].at = max(last.at, now)
            entries[entries.count - 1].byteCount = last.byteCount.addingClamping(byteCount)
        } else {
            entries.append((now, max(now, entries.last?.at ?? 0), byteCount))
        }
    }

    /// Returns the earliest time at which so many bytes can be sent within a limit, which a message may exceed alone.
    func time(for byteCount: Int, within limit: Int, after now: UInt64) -> UInt64 {
        var (time, sum) = (now, byteCount)
        // From the newest to the oldest: the first that does not fit must have left the window.
        for entry in entries.reversed() {
            sum = sum.addingClamping(entry.byteCount)
            guard sum > limit else { continue }
            time = max(time, entry.at.addingClamping(Self.length))
            break
        }
        return time
    }

    /// Returns how many more bytes can be sent now within a limit.
    func room(within limit: Int, at now: UInt64) -> Int {
        let sum = entries.reduce(0) { sum, entry in
            entry.at.addingClamping(Self.length) > now ? sum.addingClamping(entry.byteCount) : sum
        }
        return max(0, limit - sum)
    }
}

extension Int {
    /// Returns the sum, or the largest number if that is larger.
    fileprivate func addingClamping(_ other: Int) -> Int {
        let (sum, overflows) = addingReportingOverflow(other)
        return overflows ? .max : sum
    }
}

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

/// How the size of a JPEG depends on its quality.
enum JPEGSize {
    /// The quality whose sizes the others are compared with.
    static let reference = 80

    /// The sizes at some qualities, compared with that at 80: the means of this package's pictures of screens.
    ///
    /// Those of photographs fall faster.
    private static let ratios: [(quality: Int, ratio: Double)] = [
        (1, 0.25), (10, 0.35), (20, 0.46), (30, 0.55), (40, 0.62), (50, 0.68), (60, 0.75), (70, 0.86), (80, 1),
        (85, 1.11),
        (90, 1.3), (95, 1.67), (98, 2.13), (100, 2.7),
    ]

    /// Returns the expected size at a quality, compared with that at 80.
    static func ratio(_ quality: Int) -> Double {
        guard let upper = ratios.firstIndex(where: { $0.quality >= quality }), upper > 0 else { return ratios[0].ratio }
        let (low, high) = (ratios[upper - 1], ratios[upper])
        let part = Double(quality - low.quality) / Double(high.quality - low.quality)
        return low.ratio + part * (high.ratio - low.ratio)
    }

    /// Returns the highest quality in a range at which an image, of a size at 80, is expected to have at most so many bytes.
    static func quality(for byteCount: Double, _ size: Double, in range: ClosedRange<Int>) -> Int {
        var quality = range.upperBound
        while quality > range.lowerBound, size * ratio(quality) > byteCount { quality -= 1 }
        return quality
    }
}
