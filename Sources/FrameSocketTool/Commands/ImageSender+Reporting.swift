import FrameSocket
import Locking

/// What `send` tells of what it does.
extension ImageSender {
    /// Reports what the receivers of a connection state about themselves, until it ends.
    func follow(_ uploader: SampleUploader) -> Task<Void, Never> {
        let connection = uploader.connection
        return Task { [self] in
            // At the end the receiver is forgotten, which is no statement.
            await connection.followInfos { info in
                guard info != ControlRequest.SessionInfo() else { return }
                events.print(info.event())
                guard !command.isJSON, !command.isQuiet else { return }
                Terminal.endProgress()
                Terminal.say("\(command.endpoint): the receiver states \(info.list)")
            }
        }
    }

    /// Reports a difficulty that begins or ends.
    static func report(
        _ event: TransportEvent,
        _ command: SendCommand,
        _ events: EventOutput,
        _ state: Locked<State>
    ) {
        guard let condition = SampleUploader.Conditions.all.first(where: { $0.code == event.code }) else { return }
        let begins = event.level == .warning
        let conditions = state.withLock { state in
            if begins { state.conditions.insert(condition) } else { state.conditions.remove(condition) }
            return state.conditions
        }
        events.print(conditions.event)
        guard begins, !command.isJSON, !command.isQuiet else { return }
        Terminal.endProgress()
        Terminal.say("\(command.endpoint): \(event.message)")
    }

    /// Tells a person once, after the first frame, that the receiver takes no images in shared memory.
    func tellOfSharing(by uploader: SampleUploader) {
        guard command.configuration.sharesMemory, !command.isQuiet, uploader.statistics.sent > 0 else { return }
        let isKnown = state.withLock { state in
            defer { state.isSharingKnown = true }
            return state.isSharingKnown
        }
        guard !isKnown, uploader.connection.receiver.hello?.sharedMemory == nil else { return }
        Terminal.endProgress()
        Terminal.say("\(command.endpoint): the receiver accepts no images in shared memory; sending JPEGs")
    }

    /// What was sent, as an event.
    var event: JSONLine { Self.event(state.withLock { $0.uploader }?.statistics) }

    /// What was sent, as an event; nil for nothing.
    static func event(_ statistics: SampleUploader.Statistics?) -> JSONLine {
        var line = JSONLine(event: "sent")
        line.add("offered", statistics?.offered ?? 0)
        line.add("frames", statistics?.sent ?? 0)
        line.add("dropped", statistics?.dropped ?? 0)
        line.add("bytes", statistics?.bytes ?? 0)
        if let shared = statistics?.shared, shared > 0 { line.add("shared", shared) }
        if let sharpened = statistics?.sharpened, sharpened > 0 { line.add("sharpened", sharpened) }
        return line
    }

    /// Prints what was sent for a person.
    func summarise() {
        let (uploader, startedAt) = state.withLock { ($0.uploader, $0.startedAt) }
        guard !command.isQuiet, let statistics = uploader?.statistics, statistics.offered > 0 else { return }
        let seconds = Double(MonotonicClock.now() - startedAt) / 1e9
        var parts = [
            "sent \(Format.count(statistics.sent, "frame")) of \(statistics.offered)",
            Format.bytes(statistics.bytes),
            "\(Format.decimal(Double(statistics.sent) / seconds, digits: 1)) frames/s",
            "encoding \(Format.milliseconds(statistics.encoding.mean))",
            "transfer \(Format.milliseconds(statistics.transfer.mean))",
        ]
        if command.configuration.sharesMemory {
            parts.insert("\(statistics.shared == 0 ? "none" : "\(statistics.shared)") in shared memory", at: 1)
        }
        if statistics.sharpened > 0 {
            parts.append("\(statistics.sharpened) sent again at the highest quality")
        }
        for cause in SampleUploader.DropCause.allCases {
            if let count = statistics.drops[cause] { parts.append("\(count) dropped: \(cause)") }
        }
        Terminal.say(parts.joined(separator: ", "))
    }
}
