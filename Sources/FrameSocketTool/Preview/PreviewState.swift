import FrameSocket

/// The current rate of one sender's frames, and their latency.
struct PreviewMeter {
    /// The length of the window in nanoseconds, and the least of it that makes a rate.
    private static let window: UInt64 = 2_000_000_000
    private static let leastWindow: UInt64 = 1_000_000_000
    /// The maximum number of frames that are remembered, whatever the rate.
    private static let capacity = 512

    private var samples: [(receivedAt: UInt64, byteCount: Int, latency: UInt64?)] = []
    private var firstAt: UInt64?

    /// Adds a frame whose JPEG has `byteCount` bytes without its padding.
    mutating func add(receivedAt: UInt64, timestamp: UInt64?, byteCount: Int) {
        if firstAt == nil { firstAt = receivedAt }
        let (age, isAhead) = receivedAt.subtractingReportingOverflow(timestamp ?? .max)
        samples.append((receivedAt, byteCount, isAhead ? nil : age))
        if samples.count > Self.capacity { samples.removeFirst() }
    }

    /// Frames and bytes per second until `now`; nil until a second has passed since the first frame.
    func rates(at now: UInt64) -> (frames: Double, bytes: Double)? {
        guard let firstAt, let oldest = samples.first, now >= firstAt &+ Self.leastWindow else { return nil }
        // The frame with which the measurement begins is not in it: a second after the first of ten a second there are ten.
        let start = max(now > Self.window ? now - Self.window : 0, oldest.receivedAt)
        guard now > start else { return nil }
        let recent = samples.filter { $0.receivedAt > start }
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

extension PreviewStage.State {
    /// The state for a page and for scripts, of the selected sender or of the latest, as a JSON object; times are in
    /// nanoseconds.
    func json(choosing choice: Int?, endpoint: SocketEndpoint, maximumViewers: Int) -> String {
        let now = MonotonicClock.now()
        let shown = sender(choice)
        let stays = shown?.image == nil && choice == nil
        var line: JSONLine = [
            "event": "state",
            "state": shown.map { $0.isPaused ? "paused" : $0.image == nil ? "waiting" : "live" } ?? "none",
            "path": endpoint.description, "senders": senders.count, "viewers": viewers,
            "maximumViewers": maximumViewers, "choices": senders.map { JSONLine(of: $0) },
            "lastEnd": lastEnd?.description, "last": stays ? last.map { JSONLine(of: $0, at: now) } : nil,
        ]
        if let shown {
            line.add(JSONLine(of: shown, at: now))
            line.add(JSONLine(figuresOf: shown, at: now))
        }
        return line.text
    }
}

extension JSONLine {
    /// Creates an object that says who a sender is, and its image, with its age if a time is given.
    fileprivate init(of sender: PreviewStage.Sender, at now: UInt64? = nil) {
        let image = sender.image
        self = [
            "connection": sender.id, "pid": sender.peer?.processID, "uid": sender.peer?.userID,
            "width": image?.size.width, "height": image?.size.height,
        ]
        guard let now, let image else { return }
        add("orientation", image.orientation.rawValue)
        add("age", now > image.receivedAt ? now - image.receivedAt : 0)
    }

    fileprivate init(figuresOf sender: PreviewStage.Sender, at now: UInt64) {
        let rates = sender.meter.rates(at: now)
        let latency = sender.meter.latency(at: now)
        self = [
            "frames": sender.statistics.frames, "bytes": sender.byteCount, "missing": sender.statistics.missing,
            "superseded": sender.superseded, "undecodable": sender.undecodable,
            "framesPerSecond": rates.map { JSONNumber($0.frames, digits: 2) },
            "bytesPerSecond": rates.map { UInt64(exactly: $0.bytes) ?? .max },
            "latency": latency.count > 0 ? latency.mean.nanoseconds : nil,
            "latencyMaximum": latency.count > 0 ? latency.maximum.nanoseconds : nil,
        ]
    }
}
