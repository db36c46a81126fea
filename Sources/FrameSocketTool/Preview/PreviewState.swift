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
        var line = JSONLine(event: "state")
        line.add("state", shown.map { $0.isPaused ? "paused" : $0.image == nil ? "waiting" : "live" } ?? "none")
        line.add("path", endpoint.description)
        line.add("senders", senders.count)
        line.add("viewers", viewers)
        line.add("maximumViewers", maximumViewers)
        line.add("choices", senders.map { JSONLine(of: $0) })
        if let shown { line.add(shown, at: now, hasFigures: true) }
        if let lastEnd { line.add("lastEnd", lastEnd.description) }
        if shown?.image == nil, choice == nil, let last { line.add("last", JSONLine(of: last, at: now)) }
        return line.text
    }
}

extension JSONLine {
    /// Creates an object that says who a sender is, and its image, with its age if a time is given.
    fileprivate init(of sender: PreviewStage.Sender, at now: UInt64? = nil) {
        self.init()
        add(sender, at: now, hasFigures: false)
    }

    fileprivate mutating func add(_ sender: PreviewStage.Sender, at now: UInt64?, hasFigures: Bool) {
        add("connection", sender.id)
        if let peer = sender.peer {
            add("pid", peer.processID)
            add("uid", peer.userID)
        }
        if hasFigures, let now { addFigures(of: sender, at: now) }
        guard let image = sender.image else { return }
        add("width", image.size.width)
        add("height", image.size.height)
        guard let now else { return }
        add("orientation", image.orientation.rawValue)
        add("age", now > image.receivedAt ? now - image.receivedAt : 0)
    }

    private mutating func addFigures(of sender: PreviewStage.Sender, at now: UInt64) {
        add("frames", sender.statistics.frames)
        add("bytes", sender.byteCount)
        add("missing", sender.statistics.missing)
        add("superseded", sender.superseded)
        add("undecodable", sender.undecodable)
        if let (frames, bytes) = sender.meter.rates(at: now) {
            add("framesPerSecond", frames, digits: 2)
            add("bytesPerSecond", UInt64(exactly: bytes) ?? .max)
        }
        let latency = sender.meter.latency(at: now)
        if latency.count > 0 {
            add("latency", latency.mean.nanoseconds)
            add("latencyMaximum", latency.maximum.nanoseconds)
        }
    }
}
