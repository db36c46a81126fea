import FrameSocket

/// What `framesocket record` does with frames: those of one sender at a time go into the file.
actor Recording {
    /// The thread on which frames are handled: writing may block, and must hold up neither the sockets nor Swift's pool.
    nonisolated let thread = IOThread()

    private let command: RecordCommand
    private let reporter: EventReporter
    private var output: OutputFile?
    private var writer: MatroskaWriter?
    private var clock = RecordingClock()
    private var statistics = ReceptionTotals()
    /// The time of the last frame that was written.
    private var duration: UInt64 = 0
    private let end = Latch<Result<Void, CommandFailure>>()
    private var result: Result<Void, CommandFailure>? { end.value }
    /// The output whose reader was given up, because the end of the recording has been decided on; nil if none was.
    private var givenUp: String?
    /// Why something could not be written: a frame, the end of the file or an event, whether before or after the end.
    private(set) var outputFailure: CommandFailure?

    init(_ command: RecordCommand) {
        self.command = command
        reporter = EventReporter(isJSON: command.isJSON, isQuiet: command.isQuiet)
    }

    /// Creates the file.
    func open() throws(Files.Failure) {
        output = try OutputFile(command.path, overwrites: command.overwrites)
    }

    // MARK: The end

    /// Waits until there are enough frames, or until ``finish(_:)`` is called.
    func outcome() async -> Result<Void, CommandFailure> { await end.wait() }

    /// Ends the recording; the first call counts.
    func finish(_ result: Result<Void, CommandFailure>) { end.set(result) }

    /// Why the recording has ended, if it has failed.
    var failure: CommandFailure? {
        if let failure = outputFailure ?? lossFailure { return failure }
        return if case .failure(let failure)? = result { failure } else { nil }
    }

    /// The failure if frames that had arrived were not written, because their reader was given up; nil if they were.
    var lossFailure: CommandFailure? { givenUp.map(Reception.lossFailure) }

    /// Ends the recording if its file has been removed, even if no frame arrives.
    func checkFile() {
        do {
            try output?.checkExists()
        } catch {
            finish(error)
        }
    }

    private func finish(_ failure: Files.Failure) {
        guard !failure.isBrokenPipe else { return finish(.success(())) }
        guard !failure.isGivenUp else { return givenUp = failure.name }
        let failure = CommandFailure(.cannotCreate, failure.message)
        if outputFailure == nil { outputFailure = failure }
        finish(.failure(failure))
    }

    /// Completes the file, and reports what was recorded.
    func close() {
        finish(.success(()))
        Terminal.endProgress()
        guard output != nil else { return }
        do {
            if let writer = writer.take() { try writer.finish() }
            try output?.checkExists()
        } catch {
            finish(error)
        }
        output = nil
        if command.isJSON {
            var line = JSONLine(event: "recorded")
            line.add("frames", statistics.frames)
            line.add("bytes", statistics.bytes)
            line.add("duration", duration)
            print(line.text)
        }
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
        report(.connected(connection))
        let failure = await take(from: connection)
        let reason = await connection.ended()
        report(.closed(connection: connection.id, reason: reason, told: failure))
    }

    /// Records the frames of one sender; returns the error that ended them.
    private func take(from connection: FrameConnection) async -> TransportError? {
        var isSender = false
        var failure: TransportError?
        do throws(TransportError) {
            for try await frame in connection.frames {
                isSender = true
                guard result == nil, givenUp == nil else { break }
                take(frame, of: connection)
            }
        } catch {
            failure = error
            report(.broken(connection: connection.id, error))
        }
        // Who has sent no frame was only a visitor, such as the doctor.
        if command.endsWithSender, isSender { finish(.success(())) }
        if result != nil || givenUp != nil { connection.close() }
        return failure
    }

    private func take(_ frame: Frame, of connection: FrameConnection) {
        do {
            // A recording does not decode: whatever states a size is kept.
            let byteCount = frame.jpegByteCount
            let (jpeg, size) = try frame.reading { () throws(TurboJPEGError) in try frame.sizedJPEG() }
            try jpeg.withSpan { try write($0.extracting(..<byteCount), size, frame, connection.id) }
            report(.frame(frame, connection: connection.id, index: statistics.frames, jpegSize: size))
            statistics.add(frame, byteCount: byteCount)
            if !command.isQuiet { Terminal.showProgress("recorded \(Format.count(statistics.frames, "frame"))") }
            if statistics.frames == command.count { finish(.success(())) }
        } catch let error as TurboJPEGError {
            report(.failed(connection: connection.id, code: error.code.rawValue, message: "\(error)"))
        } catch let error as Files.Failure {
            finish(error)
        } catch {
            finish(.failure(CommandFailure(.unavailable, "\(error)")))
        }
    }

    private func write(
        _ jpeg: Span<UInt8>,
        _ size: (width: Int, height: Int),
        _ frame: Frame,
        _ connection: Int
    ) throws(Files.Failure) {
        guard let output else { return }
        if writer == nil {
            writer = try MatroskaWriter(output, size: BufferSize(width: size.width, height: size.height))
        }
        let time = clock.time(timestamp: frame.timestamp, receivedAt: frame.receivedAt, connection: connection)
        try writer?.append(jpeg, frame.orientation, at: time)
        duration = time
    }

    // MARK: Reporting

    func report(_ event: Reception.Event) {
        if let report = reporter.report(of: event) { self.report(report) }
    }

    /// Reports a refusal, on a thread that reads sockets, which a blocked output must not hold up.
    nonisolated func reportRefusal(_ refusal: TransportEvent) {
        guard refusal.isRefusal, let report = reporter.report(of: .refused(refusal)) else { return }
        Task(preferring: thread) { await self.report(report) }
    }

    private func report(_ report: EventReporter.Report) {
        switch report {
        case .event(let line): print(line)
        case .sentence(let sentence):
            Terminal.endProgress()
            Terminal.say(sentence)
        }
    }

    /// Prints why the recording has failed as the last event, after a signal, when nobody looks at the outcome.
    func report(_ failure: CommandFailure) {
        if command.isJSON { print(failure.event.text) }
        Terminal.say("framesocket record: \(failure.message)")
    }

    private func print(_ line: String) {
        do {
            try Terminal.print(line)
        } catch {
            finish(error)
        }
    }
}
