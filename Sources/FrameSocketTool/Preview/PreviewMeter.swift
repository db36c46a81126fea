import FrameSocket

/// The current rate of one sender's frames, and their latency.
struct PreviewMeter {
    /// The length of the window in nanoseconds, and the least of it that makes a rate.
    private static let window: UInt64 = 2_000_000_000
    private static let leastWindow: UInt64 = 1_000_000_000

    /// The maximum number of frames that are remembered, whatever the rate.
    private static let capacity = 512

    private struct Sample {
        let receivedAt: UInt64
        let byteCount: Int
        let latency: UInt64?
    }

    private var samples: [Sample] = []
    private var firstAt: UInt64?

    /// Adds a frame whose JPEG has `byteCount` bytes without its padding.
    mutating func add(receivedAt: UInt64, timestamp: UInt64?, byteCount: Int) {
        if firstAt == nil { firstAt = receivedAt }
        let (age, isAhead) = receivedAt.subtractingReportingOverflow(timestamp ?? .max)
        samples.append(Sample(receivedAt: receivedAt, byteCount: byteCount, latency: isAhead ? nil : age))
        if samples.count > Self.capacity { samples.removeFirst(samples.count - Self.capacity) }
    }

    /// Frames and bytes per second until `now`; nil until a second has passed since the first frame.
    func rates(at now: UInt64) -> (frames: Double, bytes: Double)? {
        guard let firstAt, let oldest = samples.first, now > firstAt,
            now - firstAt >= Self.leastWindow
        else { return nil }
        // The frame with which the measurement begins is not in it: a second after the first of ten a second there are ten.
        let start = max(now > Self.window ? now - Self.window : 0, oldest.receivedAt)
        let recent = samples.filter { $0.receivedAt > start }
        guard now > start else { return nil }
        let seconds = Double(now - start) / 1e9
        let bytes = recent.reduce(0) { $0 + Double($1.byteCount) } / seconds
        return (Double(recent.count) / seconds, bytes.rounded())
    }

    /// The time from presentation to last byte of the latest frames that state one.
    func latency(at now: UInt64) -> TimeSummary {
        var summary = TimeSummary()
        for sample in samples where now < sample.receivedAt &+ Self.window {
            if let latency = sample.latency { summary.add(nanoseconds: latency) }
        }
        return summary
    }
}
