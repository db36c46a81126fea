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
