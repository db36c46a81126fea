import Dispatch
import FrameSocket
import Locking

/// What `framesocket receive` does with frames: counts, writes and reports them.
///
/// Its tasks run on the thread of the listening, so that a slow disk or reader blocks nobody else. What is known at the end must be
/// there even if they are stuck.
actor Reception {
    nonisolated let listening: Listening

    private struct Counters {
        /// Who is connected.
        var senders: [Int: FrameConnection] = [:]
        /// The totals, without the frames of connected senders that were superseded.
        var statistics = ReceptionTotals()
        /// Whether a frame has arrived that is to be written.
        var hasFrame = false

        private var superseded: Int { senders.values.reduce(0) { $0 + $1.statistics.supersededFrames } }

        var totals: ReceptionTotals {
            var totals = statistics
            totals.superseded += superseded
            return totals
        }

        mutating func read() -> ReceptionReading {
            var reading = statistics.read(connections: senders.count)
            reading.totals.superseded += superseded
            return reading
        }
    }

    private let command: ReceiveCommand
    nonisolated let reporter: Reporter
    private let decoder: FrameDecoder
    private var raw: RawOutput?
    private var sound: WAVWriter?
    private let wireLog = Locked<(file: OutputFile?, connection: Int?)>((nil, nil))
    /// The numbers of the frames in the directory, if not all of them are kept.
    private var kept: ArraySlice<Int> = []
    /// The number of this run's first frame.
    private var firstNumber = 0
    /// For whoever cannot wait until a frame is written.
    private let counters = Locked(Counters())
    /// Why the counters could not be written the last time.
    private let metricsFailure = Locked<CommandFailure?>(nil)

    init(_ command: ReceiveCommand) {
        self.command = command
        let listening = Listening()
        self.listening = listening
        let isJSON = if case .json = command.output { true } else { false }
        reporter = Reporter("receive", isJSON: isJSON, isQuiet: command.isQuiet) { listening.finish($0) }
        decoder = FrameDecoder(configuration: command.decoding)
        if case .raw(let settings) = command.output {
            raw = RawOutput(settings, viewport: command.viewport, decoder: decoder)
        }
    }

    // MARK: Listening

    /// Starts listening, and then opens the files: a path that is in use must not cost anybody a file.
    ///
    /// - Throws: The failure to listen or to open a file.
    func listen() async throws(CommandFailure) -> FrameServer {
        // Who connects before the files are open waits in the backlog, as a server begins to accept on its thread.
        let gate = DispatchSemaphore(value: 0)
        let server = try listening.server(at: command.place, command.tokens, reporter) { configuration in
            configuration.info = command.info
            if command.wireLog != nil { configuration.onRead = { self.log($1, of: $0) } }
            configuration.acceptsSharedMemory = command.acceptsSharedMemory
            configuration.delivery = command.takesNewest ? .newest : .everyFrame
            Task(preferring: configuration.thread) { Self.pass(gate) }
        }
        do throws(CommandFailure) {
            if let directory = command.directory { try prepare(directory) }
            // Before the log, which is emptied.
            if let audio = command.audio { sound = WAVWriter(try OutputFile(audio, overwrites: command.overwrites)) }
            if let path = command.wireLog {
                let file = try OutputFile(path, overwrites: true)
                wireLog.withLock { $0.file = file }
            }
            // If they cannot be written now, nothing is received, and nothing written at the end.
            try writeMetrics(server)
        } catch {
            server.close()
            gate.signal()
            throw error
        }
        gate.signal()
        report(.listening(at: server.endpoint))
        return server
    }

    private static func pass(_ gate: DispatchSemaphore) { gate.wait() }

    /// Writes the raw bytes of one connection, the first that sends any.
    ///
    /// - Note: The thread that reads the connection waits for the disk, and a slow disk holds up the senders. Nothing is
    ///   lost.
    private nonisolated func log(_ bytes: Span<UInt8>, of connection: Int) {
        let file = wireLog.withLock { log in
            log.connection = log.connection ?? connection
            return log.connection == connection ? log.file : nil
        }
        do throws(CommandFailure) {
            // Outside the lock: a connection is read by one thread.
            try file?.write(bytes)
        } catch {
            // What comes later would leave a gap.
            wireLog.withLock { $0.file = nil }
            listening.finish(error)
        }
    }

    /// Creates the directory for frames, which must contain none unless they are replaced.
    private func prepare(_ directory: String) throws(CommandFailure) {
        try Files.makeDirectory(directory)
        guard unsafe access(directory, W_OK | X_OK) == 0 else { throw CommandFailure(on: directory) }
        let frames = try Files.entries(in: directory).compactMap(\.exactText).filter(Self.isFrame)
        guard command.overwrites else {
            if let name = frames.first { throw CommandFailure(on: "\(directory)/\(name)", EEXIST) }
            return
        }
        guard command.keep != nil else { return }
        // Those of earlier runs count among those that are kept.
        kept = frames.compactMap(Self.number(of:)).sorted()[...]
        firstNumber = kept.last.map { $0 + 1 } ?? 0
    }

    /// Receives from a server until it ends, and everything that came from it is handled.
    func receive(from server: FrameServer) async throws(CommandFailure) {
        try await listening.serve(server) { await self.follow($0) }
        checkSound()
    }

    // MARK: The end

    /// Asks every sender to stop for good, if that is wanted.
    nonisolated func stopSenders() {
        guard command.stopsSenders, !listening.goesOn else { return }
        for sender in counters.withLock({ $0.senders.values }) { sender.close(.requestedByHost) }
    }

    /// Why the reception has failed when its time is over, if it has.
    nonisolated func timeOut(after seconds: Double) -> CommandFailure? {
        let (frames, hasFrame) = counters.withLock { ($0.statistics.frames, $0.hasFrame) }
        if command.count == nil, hasFrame { return nil }
        let message = command.count.map { "\(frames) of \($0) frames" } ?? "no frame"
        return CommandFailure(.timedOut, "\(message) within \(Format.seconds(seconds))")
    }

    /// Writes and prints the totals; returns why the counters could not be written.
    nonisolated func summarise(_ server: FrameServer) -> CommandFailure? {
        updateMetrics(server)
        let reading = reading
        if command.printsStatistics { printStatistics(reading) }
        if !command.isQuiet {
            let totals = reading.totals
            var summary = totals.summary(decoding: decoder.decoding)
            if command.acceptsSharedMemory, totals.frames > 0, totals.shared == 0 {
                summary += ", none in shared memory"
            }
            if reporter.omitted > 0 { summary += "; \(Format.count(reporter.omitted, "message")) left out" }
            Terminal.say(summary)
        }
        return metricsFailure.withLock { $0 }
    }

    // MARK: Frames

    /// Receives the frames of one sender to its end.
    func follow(_ connection: FrameConnection) async {
        let id = connection.id
        counters.withLock { counters in
            counters.senders[id] = connection
            counters.statistics.connections += 1
        }
        report(.connected(connection))
        for request in command.requests { connection.send(request) }
        // A task that nobody cancels: at the end, the audio that has arrived is still written.
        let others = Task(preferring: listening.thread) { [self] in
            async let statuses: Void = followStatuses(of: connection)
            async let infos: Void = followInfos(of: connection)
            await followSound(of: connection)
            _ = await (statuses, infos)
        }
        var received = ReceptionStatistics()
        var failure: TransportError?
        do throws(TransportError) {
            var frames = connection.frames.makeAsyncIterator()
            var turnEnd = Self.turn.after(MonotonicClock.now())
            while true {
                var next = frames.takeReady()
                if next == nil { next = try await frames.next(isolation: self) }
                guard let frame = next, listening.goesOn else { break }
                take(frame, of: connection, &received)
                guard MonotonicClock.now() >= turnEnd else { continue }
                await Listening.giveWay()
                turnEnd = Self.turn.after(MonotonicClock.now())
            }
        } catch {
            failure = error
            report(.broken(connection: id, error))
        }
        if !listening.goesOn {
            // This may come before `stopSenders()`.
            if command.stopsSenders { connection.close(.requestedByHost) } else { connection.close() }
        }
        let reason = await connection.ended()
        await others.value
        counters.withLock { counters in
            counters.senders[id] = nil
            counters.statistics.superseded += connection.statistics.supersededFrames
        }
        report(.closed(connection: id, reason: reason, told: failure))
    }

    /// How long frames of one sender are handled one after another, while other senders, those that connect, and audio wait.
    private static let turn = Duration.milliseconds(10)

    private func followStatuses(of connection: FrameConnection) async {
        var last: SenderStatus?
        for await status in connection.statuses where status.differs(from: last) {
            last = status
            report(.status(status, connection: connection.id))
        }
    }

    private func followInfos(of connection: FrameConnection) async {
        var last = ControlRequest.SessionInfo()
        for await info in connection.infos where info != last {
            last = info
            report(.info(info, connection: connection.id))
        }
    }

    // MARK: Audio

    /// Ends the reception if the file of its audio has been removed, even if no audio arrives.
    func checkSound() {
        do {
            try sound?.checkFile()
        } catch {
            listening.finish(error)
        }
    }

    private func followSound(of connection: FrameConnection) async {
        guard let sound else { return }
        var isReported = false
        for await block in connection.audio where block.kind == .app {
            do {
                guard try !sound.append(block), !isReported, let format = sound.formatDescription else { continue }
                isReported = true
                let own = WAVWriter.description(of: block.format)
                report(
                    .failed(
                        connection: connection.id,
                        code: "audio.format",
                        message: "its audio of \(own) is left out: the file has \(format)"
                    )
                )
            } catch {
                listening.finish(error)
            }
        }
    }

    private func take(_ frame: Frame, of connection: FrameConnection, _ received: inout ReceptionStatistics) {
        do {
            let byteCount = frame.jpegByteCount
            let index = counters.withLock { counters in
                counters.statistics.addMissing(before: frame, of: &received)
                return counters.statistics.frames
            }
            let size = try consume(frame, byteCount, index)
            if reporter.isJSON { report(.frame(frame, connection: connection.id, index: index, jpegSize: size)) }
            counters.withLock { $0.statistics.add(frame, byteCount: byteCount) }
            // After the report of this one, which is there whatever becomes of the others.
            if let directory = command.directory, let keep = command.keep {
                kept.append(firstNumber + index)
                while kept.count > keep, let number = kept.popFirst() {
                    try Files.remove("\(directory)/\(Self.fileName(number))")
                }
            }
            if index + 1 == command.count { listening.finish() }
        } catch let error as TurboJPEGError where error.code == .allocationFailed {
            listening.finish(CommandFailure(.systemError, "\(error)"))
        } catch let error as TurboJPEGError {
            counters.withLock { $0.statistics.undecodable += 1 }
            report(.failed(connection: connection.id, code: error.code.rawValue, message: error.advice))
        } catch let failure as CommandFailure {
            listening.finish(failure)
        } catch {
            listening.finish(CommandFailure(.unavailable, "\(error)"))
        }
    }

    /// Decodes and writes a frame; returns the JPEG's own size, for its event, if it was decoded.
    private func consume(_ frame: Frame, _ byteCount: Int, _ index: Int) throws -> (width: Int, height: Int)? {
        var bytes = frame.jpeg
        var count = byteCount
        if case .raw = command.output {
            bytes = try raw?.bytes(of: frame)
            count = bytes?.count ?? 0
        } else if command.decodes {
            _ = try decoder.decode(frame, as: .bgra)
        }
        counters.withLock { $0.hasFrame = true }
        switch command.output {
        case .raw, .mjpeg:
            try bytes?.withSpan { try Files.write($0.extracting(..<count), to: 1, name: "standard output") }
        case .json, .nothing: break
        }
        if let directory = command.directory {
            let path = "\(directory)/\(Self.fileName(firstNumber + index))"
            try frame.jpeg?.withSpan { try Files.create(path, $0, overwrites: command.overwrites) }
        }
        // After decoding, which counts frames that are not images.
        guard command.decodes, reporter.isJSON, let jpeg = frame.jpeg else { return nil }
        return try jpeg.withSpan { try JPEGHeader.size(of: $0) }
    }

    /// Returns the file name of the frame with the given number, such as `frame-000000.jpg`.
    static func fileName(_ index: Int) -> String {
        let number = String(index)
        return "frame-" + String(repeating: "0", count: max(0, 6 - number.count)) + number + ".jpg"
    }

    /// Returns the number for which ``fileName(_:)`` returns this name; nil if there is none that others can follow.
    static func number(of name: String) -> Int? {
        guard isFrame(name), let number = Int(name.dropFirst(6).dropLast(4)), number < .max / 2 else { return nil }
        return fileName(number) == name ? number : nil
    }

    /// Returns whether ``fileName(_:)`` may have returned this name.
    static func isFrame(_ name: String) -> Bool {
        guard name.hasPrefix("frame-"), name.hasSuffix(".jpg") else { return false }
        let number = name.dropFirst(6).dropLast(4)
        return number.count >= 6 && number.allSatisfy { ("0"..."9").contains($0) }
    }

    // MARK: Reporting

    /// Reports progress, even while a frame waits to be written.
    nonisolated func tick() async {
        let reading = reading
        // Among events statistics wait like them, on the thread that may.
        if command.printsStatistics, case .json = command.output {
            await Task(preferring: listening.thread) { self.printStatistics(reading) }.value
        } else if command.printsStatistics {
            printStatistics(reading)
        }
        if !command.isQuiet { Terminal.showProgress(reading.line) }
    }

    private nonisolated var reading: ReceptionReading { counters.withLock { $0.read() } }

    /// Frames on standard output leave no room for anything else there.
    ///
    /// Readings that nobody reads are left out, unless they have a place among events.
    private nonisolated func printStatistics(_ reading: ReceptionReading) {
        let line = reading.json
        do throws(CommandFailure) {
            switch command.output {
            case .mjpeg, .raw: Terminal.say(line)
            case .nothing: try Terminal.offer(line)
            case .json: try Terminal.print(line)
            }
        } catch {
            listening.finish(error)
        }
    }

    private func report(_ event: ServerEvent) { reporter.report(event) }

    /// Writes the counters again; a full disk costs them and the exit code, and no frames.
    nonisolated func updateMetrics(_ server: FrameServer) {
        var news: CommandFailure?
        // One after another: each uses the same temporary file.
        metricsFailure.withLock { failure in
            do throws(CommandFailure) {
                try writeMetrics(server)
                failure = nil
            } catch {
                if failure == nil { news = error }
                failure = error
            }
        }
        guard let news else { return }
        reporter.report(.failed(code: "metrics.unwritten", message: news.message))
    }

    /// Writes the counters, if a file is named for them.
    private nonisolated func writeMetrics(_ server: FrameServer) throws(CommandFailure) {
        guard let metrics = command.metrics else { return }
        let (senders, totals) = counters.withLock { ($0.senders.count, $0.totals) }
        let text = totals.metrics(server.endpoint, connections: senders, server.statistics)
        let bytes = Array(text.utf8)[...]
        try Files.create(metrics, bytes.span, overwrites: true)
    }
}
