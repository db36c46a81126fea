import FrameSocket

/// The totals of all senders.
struct ReceptionTotals {
    var connections = 0
    var undecodable = 0
    var missing: UInt64 = 0
    var superseded = 0
    private(set) var frames = 0
    private(set) var bytes: UInt64 = 0
    /// The frames in shared memory.
    private(set) var shared = 0
    private var firstAt: UInt64?
    private var lastAt: UInt64 = 0

    /// Adds a frame whose JPEG has `byteCount` bytes without its padding.
    mutating func add(_ frame: Frame, byteCount: Int) {
        frames += 1
        bytes += UInt64(byteCount)
        if frame.shared != nil { shared += 1 }
        if firstAt == nil { firstAt = frame.receivedAt }
        lastAt = frame.receivedAt
    }

    /// When the last frame arrived, on the monotonic clock; nil if none has.
    var lastFrameAt: UInt64? { firstAt == nil ? nil : lastAt }

    /// Frames per second, from the first to the last.
    private var rate: String? {
        guard let firstAt, lastAt > firstAt, frames > 1 else { return nil }
        return Format.decimal(Double(frames - 1) * 1e9 / Double(lastAt - firstAt), digits: 1) + " frames/s"
    }

    /// The totals, with what is known of one connection.
    func adding(_ received: ReceptionStatistics, _ supersededFrames: Int) -> Self {
        var totals = self
        totals.missing &+= received.missing
        totals.superseded += supersededFrames
        return totals
    }

    /// Frames that senders had but that were not received, wherever they were lost.
    var dropped: UInt64 { missing &+ UInt64(superseded) }

    func summary(decoding: TimeSummary) -> String {
        var parts = [
            "\(Format.count(frames, "frame")) from \(Format.count(connections, "sender"))", Format.bytes(bytes),
        ]
        if shared > 0 { parts.append("\(shared) in shared memory") }
        if let rate { parts.append(rate) }
        if decoding.count > 0 { parts.append("decoding \(Format.milliseconds(decoding.mean))") }
        if missing > 0 { parts.append("\(missing) dropped by the sender") }
        if superseded > 0 { parts.append("\(superseded) superseded by newer ones") }
        if undecodable > 0 { parts.append("\(undecodable) not decodable") }
        return parts.joined(separator: ", ")
    }
}

/// The rate of reception, second by second, for the progress line and for `--stats json`.
struct ReceptionMeter {
    /// One reading of the meter.
    struct Reading {
        /// The number of connected senders.
        let connections: Int
        let totals: ReceptionTotals
        /// The size of the last frame, as its header states it.
        let size: BufferSize?
        /// Since the previous reading.
        let framesPerSecond: Double
        let bytesPerSecond: UInt64
        /// From presentation time to last byte, of the frames since the previous reading that state one.
        let latency: TimeSummary
    }

    private var startedAt = MonotonicClock.now()
    private var frames = 0
    private var bytes: UInt64 = 0
    private var latency = TimeSummary()
    private var size: BufferSize?

    /// Adds a frame whose JPEG has `byteCount` bytes without its padding.
    mutating func add(_ frame: Frame, byteCount: Int) {
        frames += 1
        bytes &+= UInt64(byteCount)
        size = frame.bufferSize
        if let timestamp = frame.timestamp, timestamp <= frame.receivedAt {
            latency.add(nanoseconds: frame.receivedAt - timestamp)
        }
    }

    /// Returns what has arrived since the previous reading, and starts the next.
    mutating func read(connections: Int, totals: ReceptionTotals) -> Reading {
        let now = MonotonicClock.now()
        // Two readings at the same moment see nothing, rather than an infinite rate.
        let seconds = max(Double(now &- startedAt) / 1e9, 1e-3)
        defer { (startedAt, frames, bytes, latency) = (now, 0, 0, TimeSummary()) }
        return Reading(
            connections: connections,
            totals: totals,
            size: size,
            framesPerSecond: Double(frames) / seconds,
            bytesPerSecond: UInt64(exactly: (Double(bytes) / seconds).rounded()) ?? .max,
            latency: latency
        )
    }
}

extension ReceptionMeter.Reading {
    /// The reading for a person, in one line.
    var line: String {
        guard let size else {
            return connections == 0 ? "waiting for a sender" : "waiting for the first frame"
        }
        var parts = [
            "\(Format.decimal(framesPerSecond, digits: 1)) frames/s",
            "\(size.width)x\(size.height)",
            "\(Format.bytes(bytesPerSecond))/s",
            Format.count(totals.frames, "frame"),
            "\(totals.dropped) dropped",
        ]
        if latency.count > 0 { parts.append("latency \(Format.milliseconds(latency.mean))") }
        if connections != 1 { parts.append(Format.count(connections, "sender")) }
        return parts.joined(separator: ", ")
    }

    /// The reading as a JSON object; times are in nanoseconds.
    var json: String {
        let latency = latency.count > 0 ? latency : nil
        let line: JSONLine = [
            "event": "statistics", "connections": connections, "frames": totals.frames, "bytes": totals.bytes,
            "missing": totals.missing, "superseded": totals.superseded, "undecodable": totals.undecodable,
            "framesPerSecond": JSONNumber(framesPerSecond, digits: 2), "bytesPerSecond": bytesPerSecond,
            "width": size?.width, "height": size?.height,
            "latency": latency?.mean.nanoseconds, "latencyMaximum": latency?.maximum.nanoseconds,
        ]
        return line.text
    }
}

/// The counters of a reception, in the text format of Prometheus.
struct ReceptionMetrics {
    let endpoint: SocketEndpoint
    /// The number of connected senders.
    let connections: Int
    let server: FrameServer.Statistics
    let totals: ReceptionTotals

    /// The text format, version 0.0.4; each metric is labelled with the socket, to tell several receivers apart.
    var text: String {
        var rows: [(name: String, help: String, value: any Sendable)] = [
            ("connections_total", "Senders that have connected.", totals.connections),
            ("connections", "Senders that are connected.", connections),
            ("refused_connections_total", "Senders that were refused.", server.refusedConnections),
        ]
        for reason in FrameServer.Statistics.Refusal.allCases {
            let help = "Senders that were refused for their \(reason)."
            rows.append(("refused_for_\(reason)_total", help, server.refusals[reason] ?? 0))
        }
        let isPaused = server.isAcceptingPaused ? 1 : 0
        rows += [
            ("accept_pauses_total", "Pauses in accepting for lack of a resource.", server.acceptPauses),
            ("accepting_paused", "Whether the server has paused accepting.", isPaused),
            ("memory_in_flight_bytes", "Memory of messages that arrive or have not been taken.", server.memoryInFlight),
            ("frames_total", "Frames received.", totals.frames),
            ("frame_bytes_total", "Bytes of the JPEGs received.", totals.bytes),
            ("missing_frames_total", "Frames that senders numbered and dropped.", totals.missing),
            ("superseded_frames_total", "Frames that were superseded by newer ones.", totals.superseded),
            ("undecodable_frames_total", "Frames that could not be decoded.", totals.undecodable),
        ]
        if let lastFrameAt = totals.lastFrameAt {
            // The timestamp is of the monotonic clock, which gives the age.
            let age = Double(MonotonicClock.now() &- lastFrameAt) / 1e9
            let stamp = Format.decimal(Self.now - age, digits: 3)
            rows.append(("last_frame_timestamp_seconds", "When the last frame arrived, in Unix time.", stamp))
        }
        let label = "{socket=\"\(Self.escaped(endpoint.description))\"}"
        return rows.map { row in
            let (name, type) = ("framesocket_" + row.name, row.name.hasSuffix("_total") ? "counter" : "gauge")
            return "# HELP \(name) \(row.help)\n# TYPE \(name) \(type)\n\(name)\(label) \(row.value)\n"
        }.joined()
    }

    private static func escaped(_ text: String) -> String {
        let escapes: [Unicode.Scalar: String] = ["\\": "\\\\", "\"": "\\\"", "\n": "\\n"]
        return text.unicodeScalars.map { escapes[$0] ?? String($0) }.joined()
    }

    /// Seconds of Unix time.
    private static var now: Double {
        var time = timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}
