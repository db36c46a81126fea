import FrameSocket

extension PreviewStage.State {
    /// The headline of a page: `none` if nobody is connected, `waiting` before the first frame, `live`, or `paused` if the
    /// sender has announced that it sends none for now.
    private static func summary(of sender: PreviewStage.Sender?) -> String {
        guard let sender else { return "none" }
        if sender.isPaused { return "paused" }
        return sender.image == nil ? "waiting" : "live"
    }

    /// The state for a page and for scripts, of the selected sender or of the latest, as a JSON object; times are in
    /// nanoseconds.
    func json(choosing choice: Int?, endpoint: SocketEndpoint, audience: PreviewAudience) -> String {
        let now = MonotonicClock.now()
        let shown = sender(choice)
        var line = JSONLine(event: "state")
        line.add("state", Self.summary(of: shown))
        line.add("path", endpoint.description)
        line.add("senders", senders.count)
        line.add("viewers", audience.count)
        line.add("maximumViewers", audience.maximum)
        line.add("choices", senders.map { $0.description(at: nil) })
        if let shown { shown.describe(in: &line, at: now) }
        if let lastEnd { line.add("lastEnd", lastEnd.description) }
        if shown?.image == nil, choice == nil, let last { line.add("last", last.description(at: now)) }
        return line.text
    }
}

extension PreviewStage.Sender {
    /// Who it is, and its image, with its age if a time is given.
    fileprivate func description(at now: UInt64?) -> JSONLine {
        var line = JSONLine()
        identify(in: &line)
        measure(in: &line, at: now)
        return line
    }

    fileprivate func describe(in line: inout JSONLine, at now: UInt64) {
        identify(in: &line)
        line.add("frames", statistics.frames)
        line.add("bytes", byteCount)
        line.add("missing", statistics.missing)
        line.add("superseded", superseded)
        line.add("undecodable", undecodable)
        if let (frames, bytes) = meter.rates(at: now) {
            line.add("framesPerSecond", frames, digits: 2)
            line.add("bytesPerSecond", UInt64(exactly: bytes) ?? .max)
        }
        let latency = meter.latency(at: now)
        if latency.count > 0 {
            line.add("latency", latency.mean.nanoseconds)
            line.add("latencyMaximum", latency.maximum.nanoseconds)
        }
        measure(in: &line, at: now)
    }

    private func identify(in line: inout JSONLine) {
        line.add("connection", id)
        guard let peer else { return }
        line.add("pid", peer.processID)
        line.add("uid", peer.userID)
    }

    private func measure(in line: inout JSONLine, at now: UInt64?) {
        guard let image else { return }
        line.add("width", image.size.width)
        line.add("height", image.size.height)
        guard let now else { return }
        line.add("orientation", image.orientation.rawValue)
        line.add("age", now > image.receivedAt ? now - image.receivedAt : 0)
    }
}
