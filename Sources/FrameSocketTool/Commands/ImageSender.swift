import FrameSocket
import Locking

/// Sends every image of a source to a server that accepts them all.
final class ImageSender: Sendable {
    struct State {
        var uploader: SampleUploader?
        /// Of earlier connections.
        var former = SentTotals()
        /// Whether a receiver has gone before it had read everything.
        var isLossy = false
        /// The number of files, or parts of standard input, that could not be sent.
        var badInputs = 0
        /// The number of files of which only the first image was sent.
        var partialFiles = 0
        var reports = ReportLimit()
        /// Whether it is known whether the receiver takes images in shared memory.
        var isSharingKnown = false
        /// What is difficult.
        var conditions: SampleUploader.Conditions = []
        /// Reports what the receiver states about itself, to the end of the connection.
        var following: Task<Void, Never>?
        /// Why the audio could not be read to its end.
        var audioFailure: CommandFailure?

        var totals: SentTotals { former.adding(uploader?.statistics) }
    }

    let command: SendCommand
    let configuration: SampleUploader.Configuration
    private let source: any ImageSource
    let reporter: Reporter
    private let destination: Destination
    private let sound: SoundSender?
    /// Memory for decoding JPEGs, reused from one to the next.
    private let pixels = PixelBuffer.Pool(maximumIdleImages: 1)
    private let check: PassthroughCheck
    let state = Locked(State())

    init(_ command: SendCommand, _ source: any ImageSource, _ reporter: Reporter) throws(CommandFailure) {
        self.command = command
        self.source = source
        self.reporter = reporter
        var configuration = command.configuration
        configuration.watermark = try command.watermark?.read()
        self.configuration = configuration
        check = PassthroughCheck(isLenient: command.isLenient)
        sound = try command.audio.map { [state] path throws(CommandFailure) in
            try SoundSender(path) { failure in
                reporter.warn(failure.message)
                state.withLock { $0.audioFailure = failure }
            }
        }
        var settings = SocketConnection.Configuration()
        settings.padsShortBodies = command.padsShortBodies
        settings.info = command.info
        settings.tokens = try command.tokens?.read()
        settings.log = { [state] in Self.report($0, command, reporter, state) }
        destination = Destination(command.endpoint, wait: command.wait, settings)
    }

    /// Closes the connection.
    func close() async {
        await destination.close()
        // The last frame is counted once its sending has completed.
        try? await state.withLock { $0.uploader }?.finish()
        await state.withLock { $0.following }?.value
    }

    // MARK: Sending

    /// Sends the images, over another connection whenever the receiver has gone.
    func send() async throws(CommandFailure) {
        var source = source
        var schedule = SendingSchedule(framesPerSecond: command.fps)
        var first: InputImage?
        var isOver = false
        while !isOver {
            let connection = try await destination.open()
            let uploader = SampleUploader(connection: connection, configuration: configuration)
            let following = follow(uploader)
            state.withLock { state in
                state.former = state.totals
                if state.former.startedAt == nil { state.former.startedAt = MonotonicClock.now() }
                (state.uploader, state.following) = (uploader, following)
            }
            let sounding = sound.map { sound in Task { await sound.send(over: connection) } }
            let result: Result<Bool, CommandFailure>
            do throws(CommandFailure) {
                result = .success(try await send(from: &source, first: &first, &schedule, uploader))
            } catch {
                result = .failure(error)
            }
            isOver = if case .success(false) = result { false } else { true }
            // What nobody read is sent again.
            if !isOver, !destination.isAdmitted { state.withLock { $0.uploader = nil } }
            let goesOn = isOver ? await hasSound(uploader) : false
            if !goesOn { sounding?.cancel() }
            // A pipe may be silent for any time, and what it has is not sent any more.
            if goesOn || !isOver { await sounding?.value }
            _ = try result.get()
            if isOver, sound?.isCut == true, try await !destination.hasStopped(connection) {
                throw CommandFailure(
                    .unavailable,
                    "\(command.endpoint): the receiver ended the connection before all of the audio was sent"
                )
            }
        }
        try checkInputs()
        if let audioFailure = state.withLock({ $0.audioFailure }) {
            throw CommandFailure(audioFailure.code, "only part of the audio could be sent")
        }
        if state.withLock({ $0.isLossy }) { throw destination.loss }
    }

    /// Whether there is audio that plays to its end, now that all images are out: the receiver wants it, and no number of
    /// frames was to end all.
    private func hasSound(_ uploader: SampleUploader) async -> Bool {
        guard let sound else { return false }
        if let stopAfter = command.stopAfter, totals.frames >= stopAfter { return false }
        await sound.waitToBeAsked(over: uploader.connection)
        if !sound.isWanted, uploader.connection.isOpen, !command.isQuiet {
            Terminal.say("framesocket send: the receiver asked for no audio, and got none")
        }
        return sound.isWanted
    }

    /// Sends the rest of the source, beginning with `first`.
    ///
    /// - Returns: false if there is no receiver any more; `first` is then the image to go on with.
    private func send(
        from source: inout any ImageSource,
        first: inout InputImage?,
        _ schedule: inout SendingSchedule,
        _ uploader: SampleUploader
    ) async throws(CommandFailure) -> Bool {
        let connection = uploader.connection
        var last: InputImage?
        let isRetry = first != nil
        while let image = try nextImage(first.take(), of: &source, uploader) {
            last = destination.isAdmitted ? nil : image
            if connection.closeReason != nil {
                first = image
                if !isRetry, uploader.statistics.offered == 0 {
                    if try await destination.hasStopped(connection) { return true }
                    // A server waits for a first frame for a limited time. This one was not there by then.
                    try destination.startOver(after: connection)
                    return false
                }
                let isSent = uploader.statistics.sent > 0
                let standing = try await destination.standing(of: connection, isSent: isSent)
                if standing == .lost { try await lose(uploader) }
                return standing == .satisfied
            }
            let timestamp = await schedule.wait()
            let sent = uploader.statistics.sent
            let outcome: SampleUploader.Outcome
            do throws(CommandFailure) {
                outcome = try await offer(image, to: uploader, at: timestamp)
            } catch {
                try skip(in: &source, for: explained(error, image.omission))
                continue
            }
            switch try await standing(after: outcome, uploader) {
            case .satisfied: return true
            case .turnedAway:
                first = image
                return false
            case .lost where uploader.statistics.sent == sent:
                first = image
                try await lose(uploader)
                return false
            case .accepted, .lost: break
            }
            if let omission = image.omission {
                try report(omission, of: image)
                last?.omission = nil
            }
            // Now that a server reads it, it need not be sent again: the next one is read into its memory.
            if destination.isAdmitted { last = nil }
            tellOfSharing(by: uploader)
            if let stopAfter = command.stopAfter, totals.frames >= stopAfter { break }
            if !command.isQuiet { Terminal.showProgress(totals.progress(of: source.count)) }
        }
        // The last frame is sent even if pacing has held it back.
        let isFinished = (try? await uploader.finish()) != nil
        guard uploader.statistics.offered > 0 else { return true }
        switch try await standing(after: .taken, uploader) {
        case .turnedAway:
            first = last
            return false
        case .lost where !isFinished:
            // What a byte rate still holds back has nobody to go to any longer.
            throw CommandFailure(.unavailable, destination.end(after: totals.frames))
        case .accepted, .satisfied, .lost: break
        }
        await becomeSharp(uploader)
        try await destination.deliver(connection)
        return true
    }

    /// Leaves a receiver that has gone, whatever it has not read.
    private func lose(_ uploader: SampleUploader) async throws(CommandFailure) {
        let isWhole = try await destination.leave(uploader.connection, after: totals.frames, reporter)
        if !isWhole { state.withLock { $0.isLossy = true } }
    }

    /// Waits until the last image has been sent at the highest quality, if that is adapted, for at most five seconds.
    private func becomeSharp(_ uploader: SampleUploader) async {
        let end = ContinuousClock.now + .seconds(5)
        while let quality = uploader.statistics.quality, quality < uploader.configuration.quality,
            uploader.connection.isOpen, ContinuousClock.now < end
        {
            try? await Task.sleep(for: .milliseconds(10))
        }
        try? await uploader.finish()
    }

    /// What has become of the connection, once an image was offered.
    private func standing(
        after outcome: SampleUploader.Outcome,
        _ uploader: SampleUploader
    ) async throws(CommandFailure) -> Destination.Standing {
        let connection = uploader.connection
        switch outcome {
        // The uploader learns of an end before the connection has a reason for it.
        case .taken: if !connection.isOpen { _ = try? await connection.closed() }
        // The connection is about to end.
        case .deferred(.notConnected), .dropped(.notConnected): _ = try? await connection.closed()
        case .deferred, .dropped: return .accepted
        }
        let statistics = uploader.statistics
        guard statistics.sent > 0 || connection.closeReason != nil || statistics.drops[.connectionLost] != nil else {
            return .accepted
        }
        return try await destination.standing(of: connection, isSent: statistics.sent > 0)
    }

    /// Returns the image to send again, or else the next one that can be read.
    private func nextImage(
        _ again: InputImage?,
        of source: inout any ImageSource,
        _ uploader: SampleUploader
    ) throws(CommandFailure) -> InputImage? {
        if let again { return again }
        while true {
            do throws(CommandFailure) {
                // The image that is kept for other receivers makes room for the next one.
                return try source.next { uploader.giveUpImages() }
            } catch {
                try skip(in: &source, for: error)
            }
        }
    }

    /// Checks that everything was sent.
    private func checkInputs() throws(CommandFailure) {
        let (bad, partial) = state.withLock { ($0.badInputs, $0.partialFiles) }
        guard command.sendsFiles else {
            guard bad == 0 else {
                throw CommandFailure(.badData, "\(Format.count(bad, "part")) of standard input could not be sent")
            }
            return
        }
        var sentences: [String] = []
        if bad > 0 { sentences.append("\(Format.count(bad, "file")) could not be sent") }
        if partial > 0 { sentences.append("only the first image of \(Format.count(partial, "file")) was sent") }
        guard sentences.isEmpty else { throw CommandFailure(.badData, sentences.joined(separator: "; ")) }
    }

    /// Skips what cannot be read or sent, if there is more.
    ///
    /// Of a stream with much damage, not every part is reported, but all are counted.
    private func skip(
        in source: inout any ImageSource,
        for failure: CommandFailure
    ) throws(CommandFailure) {
        guard failure.code == .badData || failure.code == .noInput, source.skipLast() else { throw failure }
        let omitted = state.withLock { state -> Int? in
            state.badInputs += 1
            // All files are named.
            guard !command.sendsFiles else { return 0 }
            let parts = ReportLimit.Kind(name: "parts", burst: 20, perSecond: 1)
            return state.reports.admit([parts], at: MonotonicClock.now())
        }
        guard let omitted else { return }
        let note = omitted > 0 ? " (\(Format.count(omitted, "similar message")) left out before)" : ""
        reporter.warn(failure.message + note)
        try reporter.check()
    }

    /// Reports images behind the first of a file, which has been sent.
    private func report(_ omission: InputImage.Omission, of image: InputImage) throws(CommandFailure) {
        state.withLock { $0.partialFiles += 1 }
        let message =
            "\(image.name): only the first image is sent, and another begins at byte \(omission.offset); send all of them "
            + "with \(omission.command)"
        reporter.warn(message)
        try reporter.check()
    }

    /// A failure to send the first image of a file, and what sends the others, if there are any.
    private func explained(_ failure: CommandFailure, _ omission: InputImage.Omission?) -> CommandFailure {
        guard let omission else { return failure }
        return CommandFailure(
            failure.code,
            "\(failure.message); another image begins at byte \(omission.offset); send all of them with "
                + omission.command
        )
    }

    /// Offers an image and waits until it is sent, so that none is dropped.
    private func offer(
        _ image: InputImage,
        to uploader: SampleUploader,
        at timestamp: UInt64?
    ) async throws(CommandFailure) -> SampleUploader.Outcome {
        let drops = uploader.statistics.drops
        let outcome = try submit(image, to: uploader, at: timestamp)
        // Waiting for a frame that pacing holds back would send it.
        if outcome == .taken { try? await uploader.finish() }
        let statistics = uploader.statistics
        if statistics.drops[.outsideLimits] != drops[.outsideLimits] {
            throw CommandFailure(.badData, "\(image.name): \(SampleUploader.DropCause.outsideLimits)")
        }
        if statistics.drops[.encodingFailed] != drops[.encodingFailed], let error = statistics.lastEncodingError {
            throw CommandFailure(ExitCode(error), "\(image.name): \(error)")
        }
        return outcome
    }

    private func submit(
        _ image: InputImage,
        to uploader: SampleUploader,
        at timestamp: UInt64?
    ) throws(CommandFailure) -> SampleUploader.Outcome {
        let orientation = command.orientation
        var image = image
        guard command.isPassthrough else {
            let pixels = try image.pixels(pixels, isLenient: command.isLenient)
            try checkSize(of: pixels, named: image.name)
            return uploader.send(pixels, orientation: orientation, timestamp: timestamp)
        }
        // A JPEG of a stream without its end marker may be complete, or cut off.
        if !image.isComplete, !command.isForced { _ = try image.pixels(pixels, isLenient: true) }
        guard case .jpeg(let jpeg) = image.content else {
            throw CommandFailure(.badData, "\(image.name): not a JPEG, and --passthrough sends only JPEGs")
        }
        let whole = command.sendsFiles ? PassthroughCheck.trimmed(jpeg) : jpeg
        if command.sendsFiles, !command.isForced { try check.check(whole, of: image) }
        let size: BufferSize
        do {
            // All that a message needs. A receiver may be able to decode what this program cannot.
            let bytes = whole[...]
            let stated = try JPEGHeader.size(of: bytes.span)
            size = BufferSize(width: stated.width, height: stated.height)
        } catch {
            throw CommandFailure(.badData, "\(image.name): \(error)")
        }
        try checkSize(of: whole, size, named: image.name)
        return uploader.send(
            jpeg: FrameBytes(whole),
            bufferSize: size,
            orientation: orientation,
            timestamp: timestamp
        )
    }

    /// Checks that receivers accept frames as large as this image will be.
    private func checkSize(of pixels: PixelBuffer, named name: String) throws(CommandFailure) {
        let scale = command.configuration.scale
        let size = scale.plan(forWidth: pixels.width, height: pixels.height, orientation: command.orientation).canvas
        guard !command.isForced,
            let complaint = FrameMessageDecoder.Limits().complaint(width: size.width, height: size.height)
        else { return }
        throw CommandFailure(.badData, "\(name): \(complaint); use --scale, --width or --fit")
    }

    /// Checks that receivers accept a JPEG that is sent unchanged.
    private func checkSize(of jpeg: [UInt8], _ size: BufferSize, named name: String) throws(CommandFailure) {
        let limits = FrameMessageDecoder.Limits()
        guard !command.isForced,
            let complaint = limits.complaint(width: size.width, height: size.height)
                ?? limits.complaint(byteCount: jpeg.count)
        else { return }
        throw CommandFailure(.badData, "\(name): \(complaint); without --passthrough, --fit makes it smaller")
    }
}

/// What `send` tells of what it does.
extension ImageSender {
    /// Reports what the receivers of a connection state about themselves, until it ends.
    func follow(_ uploader: SampleUploader) -> Task<Void, Never> {
        let connection = uploader.connection
        return Task { [self] in
            // At the end the receiver is forgotten, which is no statement.
            var last = ControlRequest.SessionInfo()
            for await info in connection.infos where info != last && info != ControlRequest.SessionInfo() {
                last = info
                reporter.print(info.event())
                reporter.say("\(command.endpoint): the receiver states \(info.list)")
            }
        }
    }

    /// Reports a difficulty that begins or ends.
    static func report(
        _ event: TransportEvent,
        _ command: SendCommand,
        _ reporter: Reporter,
        _ state: Locked<State>
    ) {
        guard let condition = SampleUploader.Conditions.all.first(where: { $0.code == event.code }) else { return }
        let begins = event.level == .warning
        let conditions = state.withLock { state in
            if begins { state.conditions.insert(condition) } else { state.conditions.remove(condition) }
            return state.conditions
        }
        var line = JSONLine(event: "conditions")
        line.add("present", conditions.names)
        reporter.print(line)
        if begins { reporter.say("\(command.endpoint): \(event.message)") }
    }

    /// Tells a person once, after the first frame, that the receiver takes no images in shared memory.
    func tellOfSharing(by uploader: SampleUploader) {
        guard command.configuration.sharesMemory, !command.isQuiet, uploader.statistics.sent > 0 else { return }
        let isKnown = state.withLock { state in
            defer { state.isSharingKnown = true }
            return state.isSharingKnown
        }
        guard !isKnown, uploader.connection.receiver.hello?.sharedMemory == nil else { return }
        Terminal.say("\(command.endpoint): the receiver accepts no images in shared memory; sending JPEGs")
    }

    /// What was sent so far, over all connections.
    var totals: SentTotals { state.withLock { $0.totals } }

    /// Prints what was sent for a person.
    func summarise() {
        let (totals, uploader) = state.withLock { ($0.totals, $0.uploader) }
        guard !command.isQuiet, let statistics = uploader?.statistics, totals.offered > 0 else { return }
        var parts = [
            "sent \(Format.count(totals.frames, "frame")) of \(totals.offered)",
            Format.bytes(totals.bytes),
            "\(totals.rate) frames/s",
            "encoding \(Format.milliseconds(statistics.encoding.mean))",
            "transfer \(Format.milliseconds(statistics.transfer.mean))",
        ]
        if command.configuration.sharesMemory {
            parts.insert("\(totals.shared == 0 ? "none" : "\(totals.shared)") in shared memory", at: 1)
        }
        if totals.sharpened > 0 {
            parts.append("\(totals.sharpened) sent again at the highest quality")
        }
        for cause in SampleUploader.DropCause.allCases {
            if let count = totals.drops[cause] { parts.append("\(count) dropped: \(cause)") }
        }
        Terminal.say(parts.joined(separator: ", "))
    }
}

/// What was sent over several connections.
struct SentTotals {
    var offered = 0
    var frames = 0
    var bytes: UInt64 = 0
    var shared = 0
    var sharpened = 0
    var drops: [SampleUploader.DropCause: Int] = [:]
    /// When the first connection was there.
    var startedAt: UInt64?

    /// Adds what was sent over one of them.
    func adding(_ statistics: SampleUploader.Statistics?) -> Self {
        guard let statistics else { return self }
        var totals = self
        totals.offered += statistics.offered
        totals.frames += statistics.sent
        totals.bytes += UInt64(statistics.bytes)
        totals.shared += statistics.shared
        totals.sharpened += statistics.sharpened
        totals.drops.merge(statistics.drops) { $0 + $1 }
        return totals
    }

    /// Frames per second so far.
    var rate: String {
        let seconds = max(Double(startedAt.map { MonotonicClock.now() - $0 } ?? 0) / 1e9, 1e-3)
        return Format.decimal(Double(frames) / seconds, digits: 1)
    }

    /// What is shown meanwhile: of how many, if that is known, how much and how fast.
    func progress(of count: Int? = nil) -> String {
        let total = count.map { " of \($0)" } ?? ""
        return "\(frames)\(total), \(Format.bytes(bytes)), \(rate)/s"
    }

    /// The event at the end.
    var event: JSONLine {
        var line = JSONLine(event: "sent")
        line.add("offered", offered)
        line.add("frames", frames)
        line.add("dropped", drops.values.reduce(0, +))
        line.add("bytes", bytes)
        if shared > 0 { line.add("shared", shared) }
        if sharpened > 0 { line.add("sharpened", sharpened) }
        return line
    }
}
