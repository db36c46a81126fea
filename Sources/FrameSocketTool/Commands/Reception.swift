import FrameSocket
import Locking

/// What `framesocket receive` does with frames: counts, writes and reports them.
///
/// Its tasks run on a thread of the command's own, so that a slow disk or reader blocks nobody else.
actor Reception {
    /// Something to report.
    enum Event {
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
    }

    /// The thread on which frames are handled: writing may block, and must hold up neither the sockets nor Swift's pool.
    nonisolated let thread = IOThread()

    /// A connected sender.
    private final class Sender: Sendable {
        let connection: FrameConnection
        let received = Locked(ReceptionStatistics())

        init(_ connection: FrameConnection) {
            self.connection = connection
        }
    }

    private struct Counters {
        var senders: [Int: Sender] = [:]
        /// The totals, without what is known only of each sender.
        var statistics = ReceptionTotals()
        var meter = ReceptionMeter()

        var totals: ReceptionTotals {
            senders.values.reduce(statistics) { totals, sender in
                totals.adding(sender.received.withLock { $0 }, sender.connection.statistics.supersededFrames)
            }
        }
    }

    private let command: ReceiveCommand
    private let reporter: EventReporter
    private let decoder: FrameDecoder
    private var raw: RawOutput?
    private var statistics = ReceptionTotals()
    private var sound: WAVWriter?
    /// The numbers of the frames that earlier runs have left in the directory, and the first of this run.
    private var former: (frames: ArraySlice<Int>, next: Int) = ([], 0)
    private let end = Latch<Result<Void, CommandFailure>>()
    private var result: Result<Void, CommandFailure>? { end.value }
    /// Why something could not be written: a frame, audio or an event, whether before or after the end.
    private(set) var outputFailure: CommandFailure?
    /// The output whose reader was given up, because the end of the reception has been decided on.
    private var givenUp: String?
    /// Why the counters could not be written the last time.
    private(set) var metricsFailure: CommandFailure?
    /// Whether a frame has arrived that could not be written.
    private var hasUnwrittenFrame = false
    /// Standard output, if there is nothing on it but statistics.
    private let readings = LineOutput(1, name: "standard output")
    /// For whoever cannot wait until a frame is written.
    private let counters = Locked(Counters())

    init(_ command: ReceiveCommand) {
        self.command = command
        let isJSON = if case .json = command.output { true } else { false }
        reporter = EventReporter(isJSON: isJSON, isQuiet: command.isQuiet)
        var configuration = FrameDecoder.Configuration()
        configuration.isUpright = command.isUpright
        if command.isLenient { configuration.jpeg.limits = .lenient }
        if command.allowsProgressive {
            configuration.jpeg.limits.maximumProgressiveScans = ReceiveCommand.progressiveScans
        }
        decoder = FrameDecoder(configuration: configuration)
        if case .raw(let settings) = command.output {
            raw = RawOutput(settings, viewport: command.viewport, decoder: decoder)
        }
    }

    // MARK: The end

    /// Waits until there are enough frames, or until ``finish(_:)`` is called.
    func outcome() async -> Result<Void, CommandFailure> { await end.wait() }

    /// Ends the reception; the first call counts.
    func finish(_ result: Result<Void, CommandFailure>) {
        guard end.set(result) else { return }
        if command.stopsSenders {
            for sender in counters.withLock({ $0.senders.values }) { sender.connection.close(.requestedByHost) }
        }
    }

    /// Ends the reception because a file or standard output cannot be written; if its reader has gone, in order.
    func finish(_ failure: Files.Failure) {
        guard !failure.isBrokenPipe else { return finish(.success(())) }
        guard !failure.isGivenUp else { return givenUp = failure.name }
        let message = failure.isTaken ? Files.refusal(failure.name) : failure.message
        let failure = CommandFailure(.cannotCreate, message)
        if outputFailure == nil { outputFailure = failure }
        finish(.failure(failure))
    }

    /// Notes whether the counters could be written: without them frames go on, and the exit code tells.
    func noteMetrics(_ failure: Files.Failure?) {
        defer { metricsFailure = failure.map { CommandFailure(.cannotCreate, $0.message) } }
        guard let failure, metricsFailure == nil else { return }
        report(.failed(connection: nil, code: "metrics.unwritten", message: failure.message))
    }

    /// Why the reception has ended, if it has failed.
    var failure: CommandFailure? {
        if case .failure(let failure)? = result { failure } else { nil }
    }

    /// The failure if frames that had arrived were not written, because their reader was given up; nil if they were.
    var lossFailure: CommandFailure? {
        givenUp.map(Self.lossFailure)
    }

    /// The failure of a reception whose output of that name was given up.
    static func lossFailure(of output: String) -> CommandFailure {
        CommandFailure(
            .cannotCreate,
            "\(output): its reader did not read everything in time; frames that had arrived are lost"
        )
    }

    /// Ends the reception because its time is over.
    func timeOut(after seconds: Double) {
        if command.count == nil, statistics.frames > 0 || hasUnwrittenFrame { return finish(.success(())) }
        let message =
            command.count.map { "\(statistics.frames) of \($0) frames" } ?? "no frame"
        let loss = lossFailure.map { "; " + $0.message } ?? ""
        finish(.failure(CommandFailure(.timedOut, "\(message) within \(Format.seconds(seconds))\(loss)")))
    }

    /// Prints the totals for a person.
    func summarise() async {
        if command.printsStatistics {
            await tick()
            readings.flush()
            checkReadings()
        }
        Terminal.endProgress()
        guard !command.isQuiet else { return }
        var summary = statistics.summary(decoding: decoder.decoding)
        if command.acceptsSharedMemory, statistics.frames > 0, statistics.shared == 0 {
            summary += ", none in shared memory"
        }
        if reporter.omitted > 0 { summary += "; \(Format.count(reporter.omitted, "message")) left out" }
        Terminal.say(summary)
    }

    // MARK: Frames

    /// Receives the frames of one sender to its end.
    func follow(_ connection: FrameConnection) async {
        let sender = Sender(connection)
        statistics.connections += 1
        counters.withLock { ($0.senders[connection.id], $0.statistics) = (sender, statistics) }
        report(.connected(connection))
        for request in command.requests { connection.send(request) }
        // A task that nobody cancels: at the end, the audio that has arrived is still written.
        let others = Task(preferring: thread) { [self] in
            async let statuses: Void = followStatuses(of: connection)
            async let infos: Void = followInfos(of: connection)
            await followSound(of: connection)
            _ = await (statuses, infos)
        }
        var failure: TransportError?
        do throws(TransportError) {
            for try await frame in connection.frames {
                guard result == nil, givenUp == nil else { break }
                sender.received.withLock { $0.add(frame) }
                take(frame, of: connection)
            }
        } catch {
            failure = error
            report(.broken(connection: connection.id, error))
        }
        if result != nil || givenUp != nil { connection.close() }
        let reason = await connection.ended()
        await others.value
        statistics = statistics.adding(sender.received.withLock { $0 }, connection.statistics.supersededFrames)
        counters.withLock { ($0.senders[connection.id], $0.statistics) = (nil, statistics) }
        report(.closed(connection: connection.id, reason: reason, told: failure))
    }

    private func followStatuses(of connection: FrameConnection) async {
        await connection.followStates { status in report(.status(status, connection: connection.id)) }
    }

    private func followInfos(of connection: FrameConnection) async {
        await connection.followInfos { info in report(.info(info, connection: connection.id)) }
    }

    // MARK: Audio

    /// Writes the app's audio to a file.
    func writeSound(to output: OutputFile) {
        sound = WAVWriter(output)
    }

    /// Ends the reception if the file of its audio has been removed, even if no audio arrives.
    func checkSound() {
        do {
            try sound?.checkFile()
        } catch {
            finish(error)
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
                finish(error)
            }
        }
    }

    private func take(_ frame: Frame, of connection: FrameConnection) {
        do {
            let byteCount = frame.jpegByteCount
            let size = try consume(frame, byteCount)
            report(.frame(frame, connection: connection.id, index: statistics.frames, jpegSize: size))
            statistics.add(frame, byteCount: byteCount)
            counters.withLock { counters in
                counters.statistics = statistics
                counters.meter.add(frame, byteCount: byteCount)
            }
            // After the report of this one, which is there whatever becomes of the others.
            if let directory = command.directory, let keep = command.keep {
                try removeFrames(in: directory, upTo: keep, of: statistics.frames)
            }
            if statistics.frames == command.count { finish(.success(())) }
        } catch let error as TurboJPEGError where error.code == .allocationFailed {
            finish(.failure(CommandFailure(.systemError, "\(error)")))
        } catch let error as TurboJPEGError {
            statistics.undecodable += 1
            counters.withLock { $0.statistics = statistics }
            report(.failed(connection: connection.id, code: error.code.rawValue, message: error.advice))
        } catch let error as Files.Failure {
            hasUnwrittenFrame = true
            finish(error)
        } catch let failure as CommandFailure {
            finish(.failure(failure))
        } catch {
            finish(.failure(CommandFailure(.unavailable, "\(error)")))
        }
    }

    /// Decodes and writes a frame; returns the JPEG's own size if it was decoded.
    private func consume(_ frame: Frame, _ byteCount: Int) throws -> (width: Int, height: Int)? {
        switch command.output {
        case .raw:
            if let bytes = try raw?.bytes(of: frame) {
                try bytes.withSpan { try Files.write($0, to: 1, name: "standard output") }
            }
        case .mjpeg:
            if command.decodes { _ = try decoder.decode(frame, as: .bgra) }
            if let jpeg = frame.jpeg {
                try jpeg.withSpan { try Files.write($0.extracting(..<byteCount), to: 1, name: "standard output") }
            }
        case .json, .nothing:
            if command.decodes { _ = try decoder.decode(frame, as: .bgra) }
        }
        if let directory = command.directory {
            let path = "\(directory)/\(Self.fileName(former.next + statistics.frames))"
            try frame.jpeg?.withSpan { try Files.create(path, $0, overwrites: command.overwrites) }
        }
        // After decoding, which counts frames that are not images.
        guard command.decodes, let jpeg = frame.jpeg else { return nil }
        return try jpeg.withSpan { try JPEGHeader.size(of: $0) }
    }

    /// Counts the frames of earlier runs among those that are kept.
    func keep(_ numbers: [Int]) {
        former = (numbers[...], numbers.last.map { $0 + 1 } ?? 0)
    }

    /// Removes the oldest frames: all but `limit`, once this run has written `count`.
    private func removeFrames(in directory: String, upTo limit: Int, of count: Int) throws(Files.Failure) {
        while former.frames.count + count > limit, let number = former.frames.popFirst() {
            try Files.remove("\(directory)/\(Self.fileName(number))")
        }
        guard count > limit else { return }
        try Files.remove("\(directory)/\(Self.fileName(former.next + count - 1 - limit))")
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

    /// The number of connected senders, and the totals of all senders including these.
    nonisolated var counts: (senders: Int, totals: ReceptionTotals) {
        let current = counters.withLock { $0 }
        return (current.senders.count, current.totals)
    }

    /// Reports progress every second, even while a frame waits to be written.
    nonisolated func tick() async {
        let (senders, totals) = counts
        let reading = counters.withLock { $0.meter.read(connections: senders, totals: totals) }
        if command.printsStatistics { await printStatistics(reading.json) }
        if !command.isQuiet { Terminal.showProgress(reading.line) }
    }

    /// Frames on standard output leave no room for anything else there.
    ///
    /// Readings that nobody reads are dropped, unless they have a place among events.
    private nonisolated func printStatistics(_ line: String) async {
        switch command.output {
        case .mjpeg, .raw: Terminal.say(line)
        case .nothing:
            readings.write(line + "\n")
            Task(preferring: thread) { await self.checkReadings() }
        // Among events it waits like them, on the thread that may.
        case .json: await Task(preferring: thread) { await self.print(line) }.value
        }
    }

    /// Ends the reception if statistics can no longer be written, for another reason than that nobody reads them.
    private func checkReadings() {
        if let failure = readings.failure, !failure.isGivenUp { finish(failure) }
    }

    private func print(_ line: String) {
        do {
            try Terminal.print(line)
        } catch {
            finish(error)
        }
    }

    /// Reports an event on standard output if requested, or else to a person.
    func report(_ event: Event) {
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

    /// Prints why the reception has failed as the last event, after a signal, when nobody looks at the outcome.
    func report(_ failure: CommandFailure) {
        if case .json = command.output { print(failure.event.text) }
        Terminal.say("framesocket receive: \(failure.message)")
    }
}
