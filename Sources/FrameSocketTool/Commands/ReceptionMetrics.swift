import FrameSocket

/// The counters of a reception, in the text format of Prometheus.
struct ReceptionMetrics {
    let endpoint: SocketEndpoint
    /// The number of connected senders.
    let connections: Int
    let server: FrameServer.Statistics
    let totals: ReceptionTotals

    /// The text format, version 0.0.4; each metric is labelled with the socket, to tell several receivers apart.
    var text: String {
        var text = ""
        add(&text, "connections_total", "counter", "Senders that have connected.", totals.connections)
        add(&text, "connections", "gauge", "Senders that are connected.", connections)
        let refused = server.refusedConnections
        add(&text, "refused_connections_total", "counter", "Senders that were refused.", refused)
        for reason in FrameServer.Statistics.Refusal.allCases {
            let count = server.refusals[reason] ?? 0
            add(
                &text,
                "refused_for_\(reason)_total",
                "counter",
                "Senders that were refused for their \(reason).",
                count
            )
        }
        add(&text, "accept_pauses_total", "counter", "Pauses in accepting for lack of a resource.", server.acceptPauses)
        let isPaused = server.isAcceptingPaused ? 1 : 0
        add(&text, "accepting_paused", "gauge", "Whether the server has paused accepting.", isPaused)
        let bytes = server.memoryInFlight
        add(&text, "memory_in_flight_bytes", "gauge", "Memory of messages that arrive or have not been taken.", bytes)
        add(&text, "frames_total", "counter", "Frames received.", totals.frames)
        add(&text, "frame_bytes_total", "counter", "Bytes of the JPEGs received.", totals.bytes)
        add(&text, "missing_frames_total", "counter", "Frames that senders numbered and dropped.", totals.missing)
        add(
            &text,
            "superseded_frames_total",
            "counter",
            "Frames that were superseded by newer ones.",
            totals.superseded
        )
        add(&text, "undecodable_frames_total", "counter", "Frames that could not be decoded.", totals.undecodable)
        if let lastFrameAt = totals.lastFrameAt {
            // The timestamp is of the monotonic clock, which gives the age.
            let age = Double(MonotonicClock.now() &- lastFrameAt) / 1e9
            let stamp = Format.decimal(Self.now - age, digits: 3)
            add(&text, "last_frame_timestamp_seconds", "gauge", "When the last frame arrived, in Unix time.", stamp)
        }
        return text
    }

    private func add(_ text: inout String, _ name: String, _ type: String, _ help: String, _ value: some Any) {
        let name = "framesocket_" + name
        text += "# HELP \(name) \(help)\n# TYPE \(name) \(type)\n"
        text += "\(name){socket=\"\(Self.escaped(endpoint.description))\"} \(value)\n"
    }

    private static func escaped(_ text: String) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\\": result += "\\\\"
            case "\"": result += "\\\""
            case "\n": result += "\\n"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    /// Seconds of Unix time.
    private static var now: Double {
        var time = timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}
