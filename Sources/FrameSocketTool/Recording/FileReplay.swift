import FrameSocket
import Locking

/// Sends the frames of a Matroska file again.
struct FileReplay: Sendable {
    private let command: ReplayCommand
    private let reporter: Reporter
    private let destination: Destination
    private let sent = Locked((offered: 0, totals: SentTotals(), bad: 0, isLossy: false))

    init(_ command: ReplayCommand, _ reporter: Reporter) throws(CommandFailure) {
        self.command = command
        self.reporter = reporter
        var settings = SocketConnection.Configuration()
        settings.tokens = try command.tokens?.read()
        destination = Destination(command.endpoint, wait: command.wait, settings)
    }

    func close() async { await destination.close() }

    /// What was sent so far.
    var totals: SentTotals { sent.withLock { $0.totals } }

    func send(_ input: InputFile) async throws(CommandFailure) {
        var connection = try await destination.open()
        sent.withLock { $0.totals.startedAt = MonotonicClock.now() }
        var pace = ReplayPace(speed: command.speed)
        var input = input
        for round in 0..<command.loops {
            if round > 0 { input = try command.open() }
            var reader = MatroskaReader(input)
            var isEmpty = true
            while let entry = try await next(of: &reader, over: connection) {
                isEmpty = false
                pace.advance(to: entry.time)
                await pace.wait()
                let message: FrameMessage
                do throws(CommandFailure) {
                    message = try self.message(for: entry, at: pace.timestamp, isExact: reader.isOwn)
                } catch {
                    // One bad frame costs no other.
                    sent.withLock { $0.bad += 1 }
                    reporter.warn(error.message, always: false)
                    try reporter.check()
                    continue
                }
                while try await !send(message, over: connection) { connection = try await destination.open() }
                if try await destination.hasStopped(connection) { return try checkLoss() }
            }
            guard !isEmpty else {
                throw CommandFailure(
                    .badData,
                    "\(input.name) has no frame\(reader.isCut ? ": it is cut off before the first" : "")"
                )
            }
            if reader.isCut {
                let message = "\(input.name) is cut off after its last frame"
                reporter.warn(message, code: "file.truncated", always: false)
            }
            pace.rewind()
        }
        try await destination.deliver(connection)
        let bad = sent.withLock { $0.bad }
        guard bad == 0 else { throw CommandFailure(.badData, "\(Format.count(bad, "frame")) could not be sent") }
        try checkLoss()
    }

    private func checkLoss() throws(CommandFailure) {
        if sent.withLock({ $0.isLossy }) { throw destination.loss }
    }

    /// The next frame of the file; if it cannot be read on, the frames before that are delivered first.
    private func next(
        of reader: inout MatroskaReader,
        over connection: SocketConnection
    ) async throws(CommandFailure) -> MatroskaReader.Entry? {
        do throws(CommandFailure) {
            return try reader.next()
        } catch {
            if totals.frames > 0 { try await destination.deliver(connection) }
            throw error
        }
    }

    /// The message that carries a recorded frame; what follows its end marker is cut off, unless it `isExact`.
    ///
    /// Cameras pad frames, and put two fields into one, which other programs record as they are.
    private func message(
        for entry: MatroskaReader.Entry,
        at timestamp: UInt64,
        isExact: Bool
    ) throws(CommandFailure) -> FrameMessage {
        let (orientation, recorded) = OrientationSegment.removed(from: entry.jpeg)
        let jpeg = isExact ? recorded : PassthroughCheck.trimmed(recorded)
        let number = sent.withLock { sent in
            defer { sent.offered += 1 }
            return sent.offered
        }
        let size: (width: Int, height: Int)
        do {
            let bytes = jpeg[...]
            size = try JPEGHeader.size(of: bytes.span)
        } catch {
            throw CommandFailure(.badData, "\(command.file): frame \(number): \(error)")
        }
        let limits = FrameMessageDecoder.Limits()
        if let complaint = limits.complaint(width: size.width, height: size.height)
            ?? limits.complaint(byteCount: jpeg.count)
        {
            throw CommandFailure(.badData, "\(command.file): frame \(number): \(complaint)")
        }
        return FrameMessage(
            jpeg: FrameBytes(jpeg),
            info: FrameInfo(
                bufferSize: BufferSize(width: size.width, height: size.height),
                orientation: orientation,
                timestamp: timestamp,
                sequence: UInt64(number)
            )
        )
    }

    /// Sends a frame, unless the receiver wants none for now.
    ///
    /// - Returns: false if there is no receiver, and time to wait for one.
    private func send(_ message: FrameMessage, over connection: SocketConnection) async throws(CommandFailure) -> Bool {
        var isSent = true
        do throws(TransportError) {
            try await connection.send(message)
        } catch {
            if error.code == .paused || error.code == .notWanted { return true }
            _ = try? await connection.closed()
            isSent = false
        }
        let standing = try await destination.standing(of: connection, isSent: isSent)
        if isSent, standing != .turnedAway { count(message) }
        guard standing == .lost, !isSent else { return standing != .turnedAway }
        let isWhole = try await destination.leave(connection, after: totals.frames, reporter)
        if !isWhole { sent.withLock { $0.isLossy = true } }
        return false
    }

    /// Counts a frame that was sent.
    private func count(_ message: FrameMessage) {
        let totals = sent.withLock { sent in
            sent.totals.frames += 1
            sent.totals.bytes &+= UInt64(message.jpeg.count)
            return sent.totals
        }
        if !command.isQuiet { Terminal.showProgress(totals.progress()) }
    }
}
