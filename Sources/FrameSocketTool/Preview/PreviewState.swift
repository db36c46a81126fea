import FrameSocket

extension PreviewStage.State {
    /// The headline of a page.
    enum Summary: String {
        /// Nobody is connected.
        case none
        /// A sender is connected and has not sent a frame yet.
        case waiting
        /// Frames arrive.
        case live
        /// The sender has announced that it sends none for now.
        case paused
    }

    private static func summary(of sender: PreviewStage.Sender?) -> Summary {
        guard let sender else { return .none }
        if sender.isPaused { return .paused }
        return sender.image == nil ? .waiting : .live
    }

    /// The state for a page and for scripts, of the selected sender or of the latest, as a JSON object; times are in
    /// nanoseconds.
    func json(
        choosing choice: Int?,
        endpoint: SocketEndpoint,
        audience: PreviewAudience,
        at now: UInt64
    ) -> String {
        let shown = sender(choice)
        var line = JSONLine(event: "state")
        line.add("state", Self.summary(of: shown).rawValue)
        line.add("path", endpoint.description)
        line.add("senders", senders.count)
        line.add("viewers", audience.count)
        line.add("maximumViewers", audience.maximum)
        line.add("choices", senders.map(\.choice))
        if let shown { shown.describe(in: &line, at: now) }
        if let lastEnd { line.add("lastEnd", lastEnd.description) }
        return line.text
    }
}

extension PreviewStage.Sender {
    /// What a viewer selects by.
    fileprivate var choice: JSONLine {
        var line = JSONLine()
        identify(in: &line)
        if let image { measure(image, in: &line) }
        return line
    }

    private func identify(in line: inout JSONLine) {
        line.add("connection", id)
        if let peer {
            line.add("pid", peer.processID)
            line.add("uid", peer.userID)
        }
    }

    private func measure(_ image: PreviewImage, in line: inout JSONLine) {
        line.add("width", image.size.width)
        line.add("height", image.size.height)
    }

    fileprivate func describe(in line: inout JSONLine, at now: UInt64) {
        identify(in: &line)
        line.add("frames", statistics.frames)
        line.add("bytes", byteCount)
        line.add("missing", statistics.missing)
        line.add("superseded", superseded)
        line.add("undecodable", undecodable)
        let reading = meter.reading(at: now)
        line.add("framesPerSecond", reading.framesPerSecond, digits: 2)
        line.add("bytesPerSecond", reading.bytesPerSecond)
        if reading.latency.count > 0 {
            line.add("latency", reading.latency.mean.nanoseconds)
            line.add("latencyMaximum", reading.latency.maximum.nanoseconds)
        }
        guard let image else { return }
        measure(image, in: &line)
        line.add("orientation", image.orientation.rawValue)
        line.add("age", now > image.receivedAt ? now - image.receivedAt : 0)
    }
}
