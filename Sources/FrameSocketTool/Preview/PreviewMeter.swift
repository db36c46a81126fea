import FrameSocket

/// The current rate of one sender's frames, and their latency.
struct PreviewMeter {
    /// The length of the window in nanoseconds.
    static let window: UInt64 = 2_000_000_000

    /// The maximum number of frames that are remembered, whatever the rate.
    static let capacity = 512

    /// The frames within the window.
    struct Reading {
        var framesPerSecond = 0.0
        var bytesPerSecond: UInt64 = 0
        /// From presentation time to last byte, of the frames that state one.
        var latency = TimeSummary()
    }

    private struct Sample {
        let receivedAt: UInt64
        let byteCount: Int
        let latency: UInt64?
    }

    private var samples: [Sample] = []
    private var firstAt: UInt64?

    /// Adds a frame whose JPEG has `byteCount` bytes without its padding.
    mutating func add(_ frame: Frame, byteCount: Int) {
        if firstAt == nil { firstAt = frame.receivedAt }
        let (age, isAhead) = frame.receivedAt.subtractingReportingOverflow(frame.timestamp ?? .max)
        samples.append(
            Sample(receivedAt: frame.receivedAt, byteCount: byteCount, latency: isAhead ? nil : age)
        )
        if samples.count > Self.capacity { samples.removeFirst(samples.count - Self.capacity) }
    }

    /// The rates at `now`.
    func reading(at now: UInt64) -> Reading {
        var reading = Reading()
        let recent = samples.filter { $0.receivedAt >= Self.time(now, minus: Self.window) }
        guard let firstAt, let oldest = recent.first else { return reading }
        // If the window is not full yet, or cannot hold all of it, the frames span less; at least half a second, since
        // two frames close together are no rate.
        let isCut = recent.count == Self.capacity
        let span = Self.time(now, minus: isCut ? oldest.receivedAt : firstAt)
        let seconds = Double(min(max(span, Self.window / 4), Self.window)) / 1e9
        var byteCount = 0
        for sample in recent {
            byteCount += sample.byteCount
            if let latency = sample.latency { reading.latency.add(nanoseconds: latency) }
        }
        reading.framesPerSecond = Double(recent.count) / seconds
        reading.bytesPerSecond = UInt64(exactly: (Double(byteCount) / seconds).rounded()) ?? .max
        return reading
    }

    private static func time(_ time: UInt64, minus other: UInt64) -> UInt64 {
        time > other ? time - other : 0
    }
}
