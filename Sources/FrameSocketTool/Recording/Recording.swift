import FrameSocket
import Locking

/// What `framesocket record` does with frames: those of one sender at a time go into the file.
actor Recording {
    nonisolated let listening: Listening
    private let command: RecordCommand
    private let reporter: Reporter
    private var output: OutputFile?
    private var writer: MatroskaWriter?
    private var clock = RecordingClock()
    /// What was recorded, and the time of the last frame; for whoever cannot wait until a frame is written.
    private let recorded = Locked((statistics: ReceptionTotals(), duration: UInt64(0), isOpen: false))

    init(_ command: RecordCommand) {
        let listening = Listening()
        (self.command, self.listening) = (command, listening)
        reporter = Reporter("record", isJSON: command.isJSON, isQuiet: command.isQuiet) { listening.finish($0) }
    }

    /// Listens, and records until there are enough frames, or until something ends it.
    func record() async throws(CommandFailure) {
        // The file comes second: a path that is in use must not cost anybody a file.
        let server = try listening.server(at: .at(command.endpoint), command.tokens, reporter) { configuration in
            // Another sender is turned away before any of its frames is read, so that it knows that none has arrived.
            configuration.limits.maximumConnections = 1
        }
        output = try OutputFile(command.path, overwrites: command.overwrites)
        recorded.withLock { $0.isOpen = true }
        reporter.report(.listening(at: server.endpoint))
        listening.every(.seconds(1)) { await self.checkFile() }
        defer { close() }
        do throws(TransportError) {
            // One after another: the next may connect while frames of one that has left are still written.
            for try await connection in server.connections { await follow(connection) }
        } catch {
            throw CommandFailure(.unavailable, "\(error)")
        }
    }

    // MARK: The end

    /// Ends the recording if its file has been removed, even if no frame arrives.
    private func checkFile() {
        do {
            try output?.checkExists()
        } catch {
            listening.finish(error)
        }
    }

    /// Completes the file.
    private func close() {
        do {
            if let writer = writer.take() { try writer.finish() }
            try output?.checkExists()
        } catch {
            listening.finish(error)
        }
        output = nil
    }

    /// Reports what was recorded.
    nonisolated func summarise() {
        let (statistics, duration, isOpen) = recorded.withLock { $0 }
        guard isOpen else { return }
        reporter.print([
            "event": "recorded", "frames": statistics.frames, "bytes": statistics.bytes, "duration": duration,
        ])
        guard !command.isQuiet else { return }
        let time = Format.decimal(Double(duration) / 1e9, digits: 2)
        Terminal.say(
            "recorded \(Format.count(statistics.frames, "frame")) in \(time) s, \(Format.bytes(statistics.bytes)): "
                + "\(command.path)"
        )
    }

    // MARK: Frames

    /// Records the frames of one sender to its end.
    func follow(_ connection: FrameConnection) async {
        reporter.report(.connected(connection))
        let failure = await take(from: connection)
        let reason = await connection.ended()
        reporter.report(.closed(connection: connection.id, reason: reason, told: failure))
    }

    /// Records the frames of one sender; returns the error that ended them.
    private func take(from connection: FrameConnection) async -> TransportError? {
        var isSender = false
        var failure: TransportError?
        do throws(TransportError) {
            for try await frame in connection.frames {
                isSender = true
                guard listening.goesOn else { break }
                take(frame, of: connection)
                await Listening.giveWay()
            }
        } catch {
            failure = error
            reporter.report(.broken(connection: connection.id, error))
        }
        // Who has sent no frame was only a visitor, such as the doctor.
        if command.endsWithSender, isSender { listening.finish() }
        if !listening.goesOn { connection.close() }
        return failure
    }

    private func take(_ frame: Frame, of connection: FrameConnection) {
        do {
            // A recording does not decode: whatever states a size is kept.
            let byteCount = frame.jpegByteCount
            let (jpeg, size) = try frame.reading { () throws(TurboJPEGError) in try frame.sizedJPEG() }
            try jpeg.withSpan { try write($0.extracting(..<byteCount), size, frame, connection.id) }
            let index = recorded.withLock { $0.statistics.frames }
            reporter.report(.frame(frame, connection: connection.id, index: index, jpegSize: size))
            recorded.withLock { $0.statistics.add(frame, byteCount: byteCount) }
            if !command.isQuiet { Terminal.showProgress("recorded \(Format.count(index + 1, "frame"))") }
            if index + 1 == command.count { listening.finish() }
        } catch let error as TurboJPEGError {
            reporter.report(.failed(connection: connection.id, code: error.code.rawValue, message: "\(error)"))
        } catch let error as CommandFailure {
            listening.finish(error)
        } catch {
            listening.finish(CommandFailure(.unavailable, "\(error)"))
        }
    }

    private func write(
        _ jpeg: Span<UInt8>,
        _ size: (width: Int, height: Int),
        _ frame: Frame,
        _ connection: Int
    ) throws(CommandFailure) {
        guard let output else { return }
        if writer == nil {
            writer = try MatroskaWriter(output, size: BufferSize(width: size.width, height: size.height))
        }
        let time = clock.time(timestamp: frame.timestamp, receivedAt: frame.receivedAt, connection: connection)
        try writer?.append(jpeg, frame.orientation, at: time)
        recorded.withLock { $0.duration = time }
    }
}

/// When each frame of a recording is shown, in nanoseconds since the first.
///
/// The time between two frames is the one that their sender states. If it states none, or an impossible one such as
/// a time before that of the previous frame, and from one sender to the next, it is the time between their arrivals.
struct RecordingClock {
    /// The maximum time between two frames that is believed: an hour.
    static let maximumStep: UInt64 = 3_600_000_000_000

    private var last: (time: UInt64, connection: Int, timestamp: UInt64?, receivedAt: UInt64)?

    /// The time of the next frame, which is later than that of the previous one.
    mutating func time(timestamp: UInt64?, receivedAt: UInt64, connection: Int) -> UInt64 {
        let time = last.map { last in
            let arrived = receivedAt > last.receivedAt ? receivedAt - last.receivedAt : 0
            var step = arrived
            if last.connection == connection, let timestamp, let before = last.timestamp, timestamp >= before,
                timestamp - before <= Self.maximumStep
            {
                step = timestamp - before
            }
            return last.time.addingReportingOverflow(max(1, step)).partialValue
        }
        last = (time ?? 0, connection, timestamp, receivedAt)
        return time ?? 0
    }
}
