import FrameSocket

/// What has come from all senders.
struct ReceptionTotals {
    var connections = 0
    var undecodable = 0
    private(set) var missing: UInt64 = 0
    var superseded = 0
    private(set) var frames = 0
    private(set) var bytes: UInt64 = 0
    /// The frames in shared memory.
    private(set) var shared = 0
    /// The size of the last frame, as its header states it.
    private(set) var size: BufferSize?
    /// When the last frame arrived, on the monotonic clock; nil if none has.
    private(set) var lastFrameAt: UInt64?
    private var firstFrameAt: UInt64?
    /// From presentation time to last byte, of the frames since the last reading that state one.
    private(set) var latency = TimeSummary()
    private var last = (readAt: MonotonicClock.now(), frames: 0, bytes: UInt64(0))

    /// Adds a frame whose JPEG has `byteCount` bytes without its padding.
    mutating func add(_ frame: Frame, byteCount: Int) {
        frames += 1
        bytes &+= UInt64(byteCount)
        if frame.shared != nil { shared += 1 }
        size = frame.bufferSize
        firstFrameAt = firstFrameAt ?? frame.receivedAt
        lastFrameAt = frame.receivedAt
        if let timestamp = frame.timestamp, timestamp <= frame.receivedAt {
            latency.add(nanoseconds: frame.receivedAt - timestamp)
        }
    }

    /// Adds what the number of a frame tells of those before it, of the same sender.
    mutating func addMissing(before frame: Frame, of received: inout ReceptionStatistics) {
        let former = received.missing
        received.add(frame)
        missing &+= received.missing &- former
    }

    /// Returns what there is by now; the rates and the latency of the next reading begin here.
    mutating func read(connections: Int) -> ReceptionReading {
        let now = MonotonicClock.now()
        // Two readings at the same moment see nothing, rather than an infinite rate.
        let seconds = max(Double(now &- last.readAt) / 1e9, 1e-3)
        defer { (last, latency) = ((now, frames, bytes), TimeSummary()) }
        return ReceptionReading(
            connections: connections,
            totals: self,
            framesPerSecond: Double(frames - last.frames) / seconds,
            bytesPerSecond: UInt64(exactly: (Double(bytes &- last.bytes) / seconds).rounded()) ?? .max
        )
    }

    /// Frames per second, from the first to the last.
    private var rate: String? {
        guard let firstFrameAt, let lastFrameAt, lastFrameAt > firstFrameAt, frames > 1 else { return nil }
        return Format.decimal(Double(frames - 1) * 1e9 / Double(lastFrameAt - firstFrameAt), digits: 1) + " frames/s"
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

/// The totals, and the rates since the reading before, for the progress line and for `--stats json`.
struct ReceptionReading {
    /// The number of connected senders.
    let connections: Int
    var totals: ReceptionTotals
    let framesPerSecond: Double
    let bytesPerSecond: UInt64
}

extension ReceptionReading {
    /// The reading for a person, in one line.
    var line: String {
        guard let size = totals.size else {
            return connections == 0 ? "waiting for a sender" : "waiting for the first frame"
        }
        var parts = [
            "\(Format.decimal(framesPerSecond, digits: 1)) frames/s",
            "\(size.width)x\(size.height)",
            "\(Format.bytes(bytesPerSecond))/s",
            Format.count(totals.frames, "frame"),
            "\(totals.dropped) dropped",
        ]
        if totals.latency.count > 0 { parts.append("latency \(Format.milliseconds(totals.latency.mean))") }
        if connections != 1 { parts.append(Format.count(connections, "sender")) }
        return parts.joined(separator: ", ")
    }

    /// The reading as a JSON object; times are in nanoseconds.
    var json: String {
        let latency = totals.latency.count > 0 ? totals.latency : nil
        let line: JSONLine = [
            "event": "statistics", "connections": connections, "frames": totals.frames, "bytes": totals.bytes,
            "missing": totals.missing, "superseded": totals.superseded, "undecodable": totals.undecodable,
            "framesPerSecond": JSONNumber(framesPerSecond, digits: 2), "bytesPerSecond": bytesPerSecond,
            "width": totals.size?.width, "height": totals.size?.height,
            "latency": latency?.mean.nanoseconds, "latencyMaximum": latency?.maximum.nanoseconds,
        ]
        return line.text
    }
}

extension ReceptionTotals {
    /// The counters of a reception in the text format of Prometheus, version 0.0.4.
    ///
    /// Each metric is labelled with the socket, to tell several receivers apart.
    func metrics(_ endpoint: SocketEndpoint, connections: Int, _ server: FrameServer.Statistics) -> String {
        var rows: [(name: String, help: String, value: any Sendable)] = [
            ("connections_total", "Senders that have connected.", self.connections),
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
            ("frames_total", "Frames received.", frames),
            ("frame_bytes_total", "Bytes of the JPEGs received.", bytes),
            ("missing_frames_total", "Frames that senders numbered and dropped.", missing),
            ("superseded_frames_total", "Frames that were superseded by newer ones.", superseded),
            ("undecodable_frames_total", "Frames that could not be decoded.", undecodable),
        ]
        if let lastFrameAt {
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
