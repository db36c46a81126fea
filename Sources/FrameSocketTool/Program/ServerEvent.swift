import FrameSocket

/// Something to report of a server and its senders.
enum ServerEvent {
    case listening(at: SocketEndpoint)
    case connected(FrameConnection)
    case frame(Frame, connection: Int, index: Int, jpegSize: (width: Int, height: Int)?)
    case failed(connection: Int?, code: String, message: String)
    /// The frames of a connection have ended with an error.
    case broken(connection: Int, TransportError)
    /// A sender was refused.
    case refused(TransportEvent)
    case status(SenderStatus, connection: Int)
    case info(ControlRequest.SessionInfo, connection: Int)
    /// A connection has ended; the error is the one that was reported as `broken`.
    case closed(connection: Int, reason: CloseReason, told: TransportError?)

    var isRefusal: Bool {
        if case .refused = self { true } else { false }
    }

    /// What limits how often it is told; nil if nothing does.
    var kinds: [ReportLimit.Kind]? {
        switch self {
        case .listening, .frame: nil
        case .refused(let refusal): [.init(name: refusal.message, burst: 1, perSecond: 0.1)]
        case .connected, .closed: [.init(name: "visits", burst: 200, perSecond: 10)]
        case .failed(nil, _, _): [Self.ofSenders]
        case .failed(let connection?, _, _), .broken(let connection, _), .status(_, let connection),
            .info(_, let connection):
            [.init(name: Self.kind(of: connection), burst: 10, perSecond: 1), Self.ofSenders]
        }
    }

    /// The name of the kind that has all of one connection.
    static func kind(of connection: Int) -> String { "sender \(connection)" }

    private static let ofSenders = ReportLimit.Kind(name: "senders", burst: 100, perSecond: 5)

    /// The event as a JSON object.
    var json: JSONLine {
        switch self {
        case .listening(let endpoint):
            var line = JSONLine(event: "listening")
            line.add("path", endpoint.description)
            return line
        case .connected(let connection):
            var line = JSONLine(event: "connected")
            line.add("connection", connection.id)
            if let peer = connection.peer {
                line.add("pid", peer.processID)
                line.add("uid", peer.userID)
            }
            return line
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
            return line
        case .failed(let connection, let code, let message):
            return JSONLine(errorCode: code, message, connection: connection)
        case .broken(let connection, let error):
            // For an invalid stream, the code is the one that docs/wire-format.md lists.
            let code = error.wireError?.code.rawValue ?? error.code.rawValue
            return JSONLine(errorCode: code, error.description, connection: connection)
        case .refused(let refusal):
            return JSONLine(errorCode: refusal.refusalCode, refusal.message, connection: Int?.none)
        case .status(let status, let connection):
            var line = JSONLine(event: "status")
            line.add("connection", connection)
            line.add("state", status.state.name)
            if let pong = status.pong { line.add("pong", pong) }
            if status.refusedPreferences > 0 { line.add("refusedPreferences", status.refusedPreferences) }
            return line
        case .info(let info, let connection):
            return info.event(of: connection)
        case .closed(let connection, let reason, _):
            var line = JSONLine(event: "closed")
            line.add("connection", connection)
            line.add("reason", reason.name)
            line.add("finish", reason.finishReason.name)
            line.add("finishCode", reason.finishReason.rawValue)
            return line
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

extension TransportEvent {
    /// Whether a sender was refused, and did not just leave before it had sent its token, or was dropped with its frames
    /// before it came to be served.
    var isRefusal: Bool {
        switch code {
        case .refusedForPlace: true
        case .refusedForUser, .refusedForToken, .departedSenderDropped: error != nil
        default: false
        }
    }

    /// The code of the JSON event of a refusal, or of a dropped sender.
    var refusalCode: String { error?.code.rawValue ?? "server.full" }
}

extension FrameConnection {
    /// Waits until the connection has ended, even if the caller's task is cancelled: its end is always reported.
    func ended() async -> CloseReason {
        // An unstructured task, which nobody cancels.
        await Task { try? await self.closed() }.value ?? .closedLocally(.stoppedByUser)
    }
}

extension SenderStatus {
    /// Whether this is news to somebody who knows the other; the number of a ping is not.
    func differs(from other: SenderStatus?) -> Bool {
        state != other?.state || refusedPreferences != other?.refusedPreferences
    }
}

extension TurboJPEGError {
    /// The description, with the option of the commands that would have avoided the error, if there is one.
    var advice: String { isDeviation ? "\(self) (--lenient)" : "\(self)" }
}

extension ControlRequest.SessionInfo {
    /// The event of what the other side states about itself; without a connection for a sender, which has one.
    func event(of connection: Int? = nil) -> JSONLine {
        var line = JSONLine(event: "info")
        if let connection { line.add("connection", connection) }
        var texts = JSONLine()
        for (key, value) in sorted { texts.add(key, value) }
        line.add("values", texts)
        if let size {
            line.add("width", size.width)
            line.add("height", size.height)
        }
        if let frameRate { line.add("framesPerSecond", frameRate, digits: 3) }
        if let offersAudio { line.add("audio", offersAudio) }
        return line
    }

    /// The same for a person.
    var list: String {
        var parts = sorted.map { "\($0.key)=\(JSONLine.quoted($0.value))" }
        if let size { parts.append("\(size.width)x\(size.height)") }
        if let frameRate { parts.append("at most \(Format.decimal(frameRate, digits: 3)) frames/s") }
        if let offersAudio { parts.append(offersAudio ? "audio" : "no audio") }
        return parts.isEmpty ? "nothing" : parts.joined(separator: ", ")
    }

    private var sorted: [(key: String, value: String)] { values.sorted { $0.key < $1.key } }
}
