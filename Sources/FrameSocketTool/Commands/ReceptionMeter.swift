import FrameSocket

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
        var line = JSONLine(event: "statistics")
        line.add("connections", connections)
        line.add("frames", totals.frames)
        line.add("bytes", totals.bytes)
        line.add("missing", totals.missing)
        line.add("superseded", totals.superseded)
        line.add("undecodable", totals.undecodable)
        line.add("framesPerSecond", framesPerSecond, digits: 2)
        line.add("bytesPerSecond", bytesPerSecond)
        if let size {
            line.add("width", size.width)
            line.add("height", size.height)
        }
        if latency.count > 0 {
            line.add("latency", latency.mean.nanoseconds)
            line.add("latencyMaximum", latency.maximum.nanoseconds)
        }
        return line.text
    }
}
