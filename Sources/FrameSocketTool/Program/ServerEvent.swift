import FrameSocket

/// Something to report of a server and its senders.
struct ServerEvent: Sendable {
    /// Makes the event's JSON object.
    private let makeJSON: @Sendable () -> JSONLine
    /// The event for a person; nil if there is nothing to say.
    let sentence: String?
    /// What limits how often it is told; nil if nothing does.
    let kinds: [ReportLimit.Kind]?
    let isRefusal: Bool
    /// The kind of which there is nothing more to tell.
    let last: String?

    private init(
        _ json: @escaping @autoclosure @Sendable () -> JSONLine,
        _ sentence: String?,
        _ kinds: [ReportLimit.Kind]? = nil,
        isRefusal: Bool = false,
        last: String? = nil
    ) {
        makeJSON = json
        (self.sentence, self.kinds, self.isRefusal, self.last) = (sentence, kinds, isRefusal, last)
    }

    /// The event as a JSON object.
    var json: JSONLine { makeJSON() }

    /// The name of the kind that has all of one connection.
    private static func kind(of connection: Int) -> String { "sender \(connection)" }

    private static func ofSender(_ connection: Int) -> [ReportLimit.Kind] {
        [.init(name: kind(of: connection), burst: 10, perSecond: 1), ofSenders]
    }

    private static let ofSenders = ReportLimit.Kind(name: "senders", burst: 100, perSecond: 5)
    private static let visits = ReportLimit.Kind(name: "visits", burst: 200, perSecond: 10)

    static func listening(at endpoint: SocketEndpoint) -> Self {
        Self(["event": "listening", "path": endpoint.description], "listening at \(endpoint)")
    }

    static func connected(_ connection: FrameConnection) -> Self {
        let (id, peer) = (connection.id, connection.peer)
        let process = peer.map { " (process \($0.processID), user \($0.userID))" } ?? ""
        return Self(
            ["event": "connected", "connection": id, "pid": peer?.processID, "uid": peer?.userID],
            "sender \(id) connected\(process)",
            [visits]
        )
    }

    static func frame(_ frame: Frame, connection: Int, index: Int, jpegSize: (width: Int, height: Int)?) -> Self {
        Self(
            [
                "event": "frame", "connection": connection, "index": index,
                "width": frame.bufferSize.width, "height": frame.bufferSize.height,
                "orientation": frame.orientation.rawValue,
                // As existing Jitsi receivers turn it; whether it is mirrored as well follows from the orientation.
                "rotation": frame.orientation.deployedRotation,
                "bytes": frame.jpeg?.count ?? 0, "shared": frame.jpeg == nil ? true : nil,
                "jpegWidth": jpegSize?.width, "jpegHeight": jpegSize?.height,
                "timestamp": frame.timestamp, "sequence": frame.sequence,
            ],
            nil
        )
    }

    /// An error with which the command continues, or cannot listen; `code` is a stable name.
    static func failed(connection: Int? = nil, code: String, message: String) -> Self {
        Self(
            ["event": "error", "connection": connection, "code": code, "message": message],
            connection.map { "sender \($0): \(message)" },
            connection.map(ofSender) ?? [ofSenders]
        )
    }

    /// The frames of a connection have ended with an error.
    static func broken(connection: Int, _ error: TransportError) -> Self {
        // For an invalid stream, the code is the one that docs/wire-format.md lists.
        let code = error.wireError?.code.rawValue ?? error.code.rawValue
        return failed(connection: connection, code: code, message: error.description)
    }

    /// A sender was refused.
    static func refused(_ refusal: TransportEvent) -> Self {
        Self(
            failed(code: refusal.refusalCode, message: refusal.message).json,
            refusal.message,
            [.init(name: refusal.message, burst: 1, perSecond: 0.1)],
            isRefusal: true
        )
    }

    static func status(_ status: SenderStatus, connection: Int) -> Self {
        Self(
            [
                "event": "status", "connection": connection, "state": status.state.name, "pong": status.pong,
                "refusedPreferences": status.refusedPreferences > 0 ? status.refusedPreferences : nil,
            ],
            "sender \(connection) is \(status.state.name)",
            ofSender(connection)
        )
    }

    static func info(_ info: ControlRequest.SessionInfo, connection: Int) -> Self {
        Self(info.event(of: connection), "sender \(connection) states \(info.list)", ofSender(connection))
    }

    /// A connection has ended; the error is the one that was reported as `broken`.
    static func closed(connection: Int, reason: CloseReason, told: TransportError?) -> Self {
        Self(
            [
                "event": "closed", "connection": connection, "reason": reason.name,
                "finish": reason.finishReason.name, "finishCode": reason.finishReason.rawValue,
            ],
            told != nil && reason.error == told ? nil : "sender \(connection): \(reason)",
            [visits],
            last: kind(of: connection)
        )
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
    /// before it came to be served; or whether nobody can connect for a while, or can again.
    var isRefusal: Bool {
        switch code {
        case .refusedForPlace, .acceptPaused, .pathLost, .pathRestored: true
        case .refusedForUser, .refusedForToken, .departedSenderDropped: error != nil
        default: false
        }
    }

    /// The code of the JSON event of a refusal, or of a dropped sender.
    var refusalCode: String { code == .refusedForPlace ? "server.full" : error?.code.rawValue ?? code.rawValue }
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
        var texts: JSONLine = [:]
        for (key, value) in sorted { texts.add(key, value) }
        return [
            "event": "info", "connection": connection, "values": texts, "width": size?.width, "height": size?.height,
            "framesPerSecond": frameRate.map { JSONNumber($0, digits: 3) }, "audio": offersAudio,
        ]
    }

    /// The same for a person.
    var list: String {
        var parts = sorted.map { "\($0.key)=\($0.value.json)" }
        if let size { parts.append("\(size.width)x\(size.height)") }
        if let frameRate { parts.append("at most \(Format.decimal(frameRate, digits: 3)) frames/s") }
        if let offersAudio { parts.append(offersAudio ? "audio" : "no audio") }
        return parts.isEmpty ? "nothing" : parts.joined(separator: ", ")
    }

    private var sorted: [(key: String, value: String)] { values.sorted { $0.key < $1.key } }
}
