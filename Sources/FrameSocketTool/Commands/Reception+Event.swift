import FrameSocket

extension Reception.Event {
    /// The event as a JSON object.
    var json: String {
        switch self {
        case .listening(let endpoint):
            var line = JSONLine(event: "listening")
            line.add("path", endpoint.description)
            return line.text
        case .connected(let connection):
            var line = JSONLine(event: "connected")
            line.add("connection", connection.id)
            if let peer = connection.peer {
                line.add("pid", peer.processID)
                line.add("uid", peer.userID)
            }
            return line.text
        case .frame(let frame, let connection, let index, let jpegSize):
            var line = JSONLine(event: "frame")
            line.add("connection", connection)
            line.add("index", index)
            line.add("width", frame.bufferSize.width)
            line.add("height", frame.bufferSize.height)
            line.add("orientation", frame.orientation.rawValue)
            // As existing Jitsi receivers turn it; whether it is mirrored as well follows from the orientation.
            line.add("rotation", frame.orientation.deployedRotation)
            line.add("bytes", frame.jpeg?.count ?? 0)
            if frame.jpeg == nil { line.add("shared", true) }
            if let jpegSize {
                line.add("jpegWidth", jpegSize.width)
                line.add("jpegHeight", jpegSize.height)
            }
            if let timestamp = frame.timestamp { line.add("timestamp", timestamp) }
            if let sequence = frame.sequence { line.add("sequence", sequence) }
            return line.text
        case .failed(let connection, let code, let message):
            return JSONLine(errorCode: code, message, connection: connection).text
        case .broken(let connection, let error):
            // For an invalid stream, the code is the one that docs/wire-format.md lists.
            let code = error.wireError?.code.rawValue ?? error.code.rawValue
            return JSONLine(errorCode: code, error.description, connection: connection).text
        case .refused(let refusal):
            return JSONLine(errorCode: refusal.refusalCode, refusal.message, connection: Int?.none).text
        case .status(let status, let connection):
            var line = JSONLine(event: "status")
            line.add("connection", connection)
            line.add("state", status.state.name)
            if let pong = status.pong { line.add("pong", pong) }
            if status.refusedPreferences > 0 { line.add("refusedPreferences", status.refusedPreferences) }
            return line.text
        case .info(let info, let connection):
            return info.event(of: connection).text
        case .closed(let connection, let reason, _):
            var line = JSONLine(event: "closed")
            line.add("connection", connection)
            line.add("reason", reason.name)
            line.add("finish", reason.finishReason.name)
            line.add("finishCode", reason.finishReason.rawValue)
            return line.text
        }
    }

    /// The event for a person; nil if there is nothing to say.
    var sentence: String? {
        switch self {
        case .listening(let endpoint): "listening at \(endpoint)"
        case .connected(let connection):
            "sender \(connection.id) connected"
                + (connection.peer.map { " (process \($0.processID), user \($0.userID))" } ?? "")
        case .frame: nil
        case .status(let status, let connection): "sender \(connection) is \(status.state.name)"
        case .info(let info, let connection): "sender \(connection) states \(info.list)"
        case .failed(let connection?, _, let message): "sender \(connection): \(message)"
        case .failed(nil, _, _): nil
        case .broken(let connection, let error): "sender \(connection): \(error)"
        case .refused(let refusal): refusal.message
        case .closed(_, let reason, let told?) where reason.error == told: nil
        case .closed(let connection, let reason, _): "sender \(connection): \(reason)"
        }
    }
}

extension Frame {
    /// The number of bytes of the JPEG, without the zeros that its sender padded it with; 0 for a shared image.
    var jpegByteCount: Int { jpeg?.withSpan { $0.countWithoutPadding } ?? 0 }

    /// Returns the JPEG, and the size that it states.
    ///
    /// - Throws: `notJPEG` for a shared image, which only `receive --shared` accepts; the errors of `JPEGHeader`.
    func sizedJPEG() throws(TurboJPEGError) -> (jpeg: FrameBytes, size: (width: Int, height: Int)) {
        guard let jpeg else { throw TurboJPEGError(.notJPEG, "the image is in shared memory") }
        return (jpeg, try jpeg.withSpan { jpeg throws(TurboJPEGError) in try JPEGHeader.size(of: jpeg) })
    }
}

extension SenderStatus.State {
    /// The name on the wire.
    fileprivate var name: String {
        switch self {
        case .live: "live"
        case .paused: "paused"
        case .stopped: "stopped"
        }
    }
}

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
