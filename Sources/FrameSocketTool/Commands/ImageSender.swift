import FrameSocket
import Locking

/// The images of a source, all of which go to a receiver by way of an uploader.
struct ImageSender: Cargo {
    let destination: Destination
    private let command: SendCommand
    private let configuration: SampleUploader.Configuration
    private var source: any ImageSource
    private var schedule: SendingSchedule
    /// The time of the image that was read last, once it was due.
    private var timestamp: UInt64?
    private let reporter: Reporter
    private let sound: SoundSender?
    /// Memory for decoding JPEGs, reused from one to the next.
    private let pixels = PixelBuffer.Pool(maximumIdleImages: 1)
    private let passthroughCheck: PassthroughCheck
    /// Of the connection that was begun last, with the task that sends its audio.
    private var uploader: SampleUploader?
    /// What the uploader had told before it was given the last image.
    private var earlier: SampleUploader.Statistics?
    private var sounding: Task<Void, Never>?
    /// The number of files, or parts of standard input, that could not be sent.
    private var badInputs = 0
    /// What is not sent of the file that was offered last.
    private var omission: (file: String, rest: InputImage.Omission)?
    /// The files of which only the first image was sent.
    private var partialFiles: Set<String> = []
    /// Whether it is known whether the receiver takes images in shared memory.
    private var isSharingKnown = false
    /// Why the audio could not be read to its end.
    private let audioFailure = Locked<CommandFailure?>(nil)

    var count: Int? { source.count }

    init(_ command: SendCommand, _ source: any ImageSource, _ reporter: Reporter) throws(CommandFailure) {
        self.command = command
        self.source = source
        self.reporter = reporter
        schedule = SendingSchedule(framesPerSecond: command.fps)
        var configuration = command.configuration
        configuration.watermark = try command.watermark?.read()
        self.configuration = configuration
        passthroughCheck = PassthroughCheck(isLenient: command.isLenient)
        sound = try command.audio.map { [audioFailure] path throws(CommandFailure) in
            try SoundSender(path) { failure in
                reporter.warn(failure.message)
                audioFailure.withLock { $0 = failure }
            }
        }
        var settings = SocketConnection.Configuration()
        settings.padsShortBodies = command.padsShortBodies
        settings.info = command.info
        settings.tokens = try command.tokens?.read()
        settings.log = Self.conditionsReport(command, reporter)
        destination = Destination(command.endpoint, wait: command.wait, settings, reporter)
    }

    // MARK: Sending

    mutating func begin(over connection: SocketConnection) -> Passage {
        let uploader = SampleUploader(connection: connection, configuration: configuration, encodesOnCaller: true)
        self.uploader = uploader
        earlier = nil
        let following = follow(connection)
        // Reading a file blocks, so it must not happen on Swift's pool.
        sounding = sound.map { sound in Task(preferring: IOThread()) { await sound.send(over: connection) } }
        return Passage(sent: { SentTotals(uploader.statistics) }) {
            // The last frame is counted once its sending has completed.
            try? await uploader.finish()
            await following.value
        }
    }

    mutating func next() async throws(CommandFailure) -> InputImage? {
        timestamp = nil
        try reportOmission()
        tellOfSharing()
        if isEnough { return nil }
        while true {
            do throws(CommandFailure) {
                // The image that is kept for other receivers makes room for the next one.
                let uploader = uploader
                return try source.next { uploader?.giveUpImages() }
            } catch {
                try skip(for: error)
            }
        }
    }

    /// Whether as many frames were sent as are to be sent at all.
    private var isEnough: Bool { command.stopAfter.map { destination.totals.frames >= $0 } ?? false }

    /// Offers an image and waits until it is sent, so that none is dropped.
    mutating func send(_ image: InputImage) async throws(CommandFailure) -> Handover {
        guard let uploader else { return .unsent }
        // One that an earlier connection had is due already.
        if timestamp == nil { timestamp = schedule.wait() } else { schedule.restart() }
        let before = uploader.statistics
        earlier = before
        do throws(CommandFailure) {
            switch try submit(image, to: uploader, at: timestamp) {
            case .taken: if uploader.unfinished != nil { try? await uploader.finish() }
            // The connection is about to end.
            case .deferred(.notConnected), .dropped(.notConnected): _ = try? await uploader.connection.closed()
            // Waiting for a frame that pacing holds back would send it.
            case .deferred, .dropped: break
            }
            let statistics = uploader.statistics
            if statistics.drops[.outsideLimits] != before.drops[.outsideLimits] {
                throw CommandFailure(.badData, "\(image.name): \(SampleUploader.DropCause.outsideLimits)")
            }
            if statistics.drops[.encodingFailed] != before.drops[.encodingFailed],
                let error = statistics.lastEncodingError
            {
                throw CommandFailure(ExitCode(error), "\(image.name): \(error)")
            }
            if statistics.drops[.connectionLost] != before.drops[.connectionLost] {
                _ = try? await uploader.connection.closed()
            }
            omission = image.omission.map { (image.name, $0) }
            return statistics.sent > before.sent ? .sent : .unsent
        } catch {
            try skip(for: explained(error, image.omission))
            return .unfit
        }
    }

    var sentBeforeLast: SentTotals { earlier.map(SentTotals.init) ?? SentTotals() }

    /// Waits until the last image has been sent, at the highest quality if that is adapted, for at most five seconds.
    func finish() async -> Bool {
        guard let uploader else { return true }
        let isFinished = (try? await uploader.finish()) != nil
        let end = ContinuousClock.now + .seconds(5)
        while let quality = uploader.statistics.quality, quality < uploader.configuration.quality,
            uploader.connection.isOpen, ContinuousClock.now < end
        {
            try? await Task.sleep(for: .milliseconds(10))
        }
        try? await uploader.finish()
        return isFinished
    }

    /// Ends the audio; once all images are out, after it has played to its end.
    func end(isOver: Bool) async -> Bool {
        guard let sound, let uploader else { return true }
        let goesOn = isOver ? await hasSound(sound, uploader.connection) : false
        if !goesOn { sounding?.cancel() }
        // A pipe may be silent for any time, and what it has is not sent any more.
        if goesOn || !isOver { await sounding?.value }
        return !isOver || !sound.isCut
    }

    /// Whether there is audio that plays to its end: the receiver wants it, and no number of frames was to end all.
    private func hasSound(_ sound: SoundSender, _ connection: SocketConnection) async -> Bool {
        if isEnough { return false }
        await sound.waitToBeAsked(over: connection)
        if !sound.isWanted, connection.isOpen, !command.isQuiet {
            Terminal.say("framesocket send: the receiver asked for no audio, and got none")
        }
        return sound.isWanted
    }

    // MARK: What cannot be sent

    func check() throws(CommandFailure) {
        try checkInputs()
        if let audioFailure = audioFailure.withLock({ $0 }) {
            throw CommandFailure(audioFailure.code, "only part of the audio could be sent")
        }
    }

    private func checkInputs() throws(CommandFailure) {
        guard command.sendsFiles else {
            guard badInputs == 0 else {
                throw CommandFailure(.badData, "\(Format.count(badInputs, "part")) of standard input could not be sent")
            }
            return
        }
        let partial = partialFiles.count
        var sentences: [String] = []
        if badInputs > 0 { sentences.append("\(Format.count(badInputs, "file")) could not be sent") }
        if partial > 0 { sentences.append("only the first image of \(Format.count(partial, "file")) was sent") }
        guard sentences.isEmpty else { throw CommandFailure(.badData, sentences.joined(separator: "; ")) }
    }

    /// Skips what cannot be read or sent, if there is more.
    ///
    /// Of a stream with much damage, not every part is reported, but all are counted.
    private mutating func skip(for failure: CommandFailure) throws(CommandFailure) {
        guard failure.code == .badData || failure.code == .noInput, source.skipLast() else { throw failure }
        badInputs += 1
        // All files are named.
        let parts = command.sendsFiles ? nil : ReportLimit.Kind(name: "parts", burst: 20, perSecond: 1)
        reporter.warn(failure.message, of: parts)
        try reporter.check()
    }

    /// Reports images behind the first of the last file, which has been sent.
    private mutating func reportOmission() throws(CommandFailure) {
        guard let (file, rest) = omission.take(), partialFiles.insert(file).inserted else { return }
        reporter.warn(
            "\(file): only the first image is sent, and another begins at byte \(rest.offset); send all of them "
                + "with \(rest.command)"
        )
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

    private func submit(
        _ image: InputImage,
        to uploader: SampleUploader,
        at timestamp: UInt64?
    ) throws(CommandFailure) -> SampleUploader.Outcome {
        let orientation = command.orientation
        var image = image
        guard command.isPassthrough else {
            let pixels = try image.pixels(pixels, isLenient: command.isLenient)
            let (width, height) = (pixels.width, pixels.height)
            let size = configuration.scale.plan(forWidth: width, height: height, orientation: orientation).canvas
            if let complaint = configuration.limits.complaint(width: size.width, height: size.height) {
                throw CommandFailure(.badData, "\(image.name): \(complaint); use --scale, --width or --fit")
            }
            return uploader.send(pixels, orientation: orientation, timestamp: timestamp)
        }
        // A JPEG of a stream without its end marker may be complete, or cut off.
        if !image.isComplete, !command.isForced { _ = try image.pixels(pixels, isLenient: true) }
        guard case .jpeg(let jpeg) = image.content else {
            throw CommandFailure(.badData, "\(image.name): not a JPEG, and --passthrough sends only JPEGs")
        }
        let whole = command.sendsFiles ? PassthroughCheck.trimmed(jpeg) : jpeg
        if command.sendsFiles, !command.isForced { try passthroughCheck.check(whole, of: image) }
        // All that a message needs. A receiver may be able to decode what this program cannot.
        let advice = "; without --passthrough, --fit makes it smaller"
        let size = try configuration.limits.size(of: whole, named: image.name, advice)
        return uploader.send(
            jpeg: FrameBytes(whole),
            bufferSize: size,
            orientation: orientation,
            timestamp: timestamp
        )
    }

    // MARK: What is told

    /// Reports what the receivers of a connection state about themselves, until it ends.
    private func follow(_ connection: SocketConnection) -> Task<Void, Never> {
        Task { [command, reporter] in
            // At the end the receiver is forgotten, which is no statement.
            var last = ControlRequest.SessionInfo()
            for await info in connection.infos where info != last && info != ControlRequest.SessionInfo() {
                last = info
                reporter.print(info.event())
                reporter.say("\(command.endpoint): the receiver states \(info.list)")
            }
        }
    }

    /// Reports each difficulty that begins or ends.
    private static func conditionsReport(
        _ command: SendCommand,
        _ reporter: Reporter
    ) -> @Sendable (TransportEvent) -> Void {
        let present = Locked<SampleUploader.Conditions>([])
        return { event in
            let all = SampleUploader.Conditions.all
            guard let condition = all.first(where: { $0.code == event.code }) else { return }
            let begins = event.level == .warning
            let conditions = present.withLock { present in
                if begins { present.insert(condition) } else { present.remove(condition) }
                return present
            }
            reporter.print(["event": "conditions", "present": conditions.names])
            if begins { reporter.say("\(command.endpoint): \(event.message)") }
        }
    }

    /// Tells a person once, after the first frame, that the receiver takes no images in shared memory.
    private mutating func tellOfSharing() {
        guard command.configuration.sharesMemory, !isSharingKnown, !command.isQuiet, let uploader,
            uploader.statistics.sent > 0
        else { return }
        isSharingKnown = true
        // Once a receiver has gone, what it accepted is forgotten.
        guard uploader.connection.receiver.hello?.sharedMemory == nil, uploader.connection.isOpen else { return }
        Terminal.say("\(command.endpoint): the receiver accepts no images in shared memory; sending JPEGs")
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
    /// The times of the last connection.
    var (encoding, transfer) = (TimeSummary(), TimeSummary())
    /// When the first connection was there.
    var startedAt: UInt64?

    init() {}

    /// Creates the totals of one connection.
    init(_ statistics: SampleUploader.Statistics) {
        offered = statistics.offered
        frames = statistics.sent
        bytes = UInt64(statistics.bytes)
        shared = statistics.shared
        sharpened = statistics.sharpened
        drops = statistics.drops
        (encoding, transfer) = (statistics.encoding, statistics.transfer)
    }

    /// The totals, with those of another connection.
    func adding(_ last: SentTotals) -> SentTotals {
        var totals = last
        totals.offered += offered
        totals.frames += frames
        totals.bytes += bytes
        totals.shared += shared
        totals.sharpened += sharpened
        totals.drops.merge(drops) { $0 + $1 }
        totals.startedAt = startedAt
        return totals
    }

    /// Frames per second so far.
    var rate: String {
        let seconds = max(Double(startedAt.map { MonotonicClock.now() - $0 } ?? 0) / 1e9, 1e-3)
        return Format.decimal(Double(frames) / seconds, digits: 1)
    }

    /// What is shown meanwhile: of how many, if that is known, how much and how fast.
    func progress(of count: Int?) -> String {
        let total = count.map { " of \($0)" } ?? ""
        return "\(frames)\(total), \(Format.bytes(bytes)), \(rate)/s"
    }
}
