import FrameSocket

extension PreviewStage.State {
    /// What a page says in large letters.
    enum Summary: String {
        /// Nobody is connected.
        case none
        /// A sender is connected and has not sent a picture yet.
        case waiting
        /// Pictures come.
        case live
        /// The sender has said that it sends none for now.
        case paused
    }

    var summary: Summary {
        guard let shown else { return .none }
        if shown.isPaused { return .paused }
        return shown.picture == nil ? .waiting : .live
    }

    /// The state as a page and scripts read it: one JSON object; times are in nanoseconds.
    func json(endpoint: SocketEndpoint, maximumViewers: Int, at now: UInt64) -> String {
        var line = JSONLine(event: "state")
        line.add("state", summary.rawValue)
        line.add("path", endpoint.description)
        line.add("senders", senders.count)
        line.add("viewers", viewerCount)
        line.add("maximumViewers", maximumViewers)
        if let shown { shown.describe(in: &line, at: now) }
        if let lastEnd { line.add("lastEnd", lastEnd.description) }
        return line.text
    }
}

extension PreviewStage.Sender {
    fileprivate func describe(in line: inout JSONLine, at now: UInt64) {
        line.add("connection", id)
        if let peer {
            line.add("pid", peer.processID)
            line.add("uid", peer.userID)
        }
        line.add("frames", statistics.frames)
        line.add("bytes", statistics.bytes)
        line.add("missing", statistics.missing)
        line.add("superseded", superseded)
        line.add("undecodable", undecodable)
        let reading = meter.reading(at: now)
        line.add("framesPerSecond", reading.framesPerSecond, digits: 2)
        line.add("bytesPerSecond", reading.bytesPerSecond)
        if reading.latency.count > 0 {
            line.add("latency", reading.latency.mean)
            line.add("latencyMaximum", reading.latency.maximum)
        }
        guard let picture else { return }
        line.add("width", picture.size.width)
        line.add("height", picture.size.height)
        line.add("orientation", picture.orientation.rawValue)
        line.add("age", now > picture.receivedAt ? now - picture.receivedAt : 0)
    }
}
