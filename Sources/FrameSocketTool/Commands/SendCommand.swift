import FrameSocket
import Locking

/// `framesocket send`: sends pictures to a server, every one of them.
struct SendCommand: Command {
    static let name = "send"
    static let summary = "send pictures, a directory of them, or video from standard input"
    static let help = """
        Usage: framesocket send PATH FILE... [options]
               framesocket send PATH - [options]
               framesocket send PATH - --size WxH --format FORMAT [options]

        Sends every picture to the server at PATH, or at tcp:PORT of this machine, in
        order. FILE is a JPEG, PNG or PNM file, or a directory of them; - is a stream
        of JPEGs, one after another, on standard input, or raw video where its size and
        format are given.

          --fps N          at most N frames a second; without it, as fast as they are
                           taken
          --loop N         send the files N times; 0 for ever
        \(SendOptions.help)
          --orientation N  1 to 8, as the pictures lie (1); 0 for unknown
          --passthrough    send JPEGs as they are
          --no-padding     do not pad bodies under 10,240 bytes, which wedges deployed
                           receivers
          --size WxH       size of raw video
          --format FORMAT  format of raw video, one of
                           \(PixelFormat.allCases.map(\.name).joined(separator: " "))
          --audio FILE     send the sound of a WAVE file as well, at its own pace, to a
                           receiver that asks for it
          --stop-after N   end after N frames
          --token-file F   show the bytes of F before the first frame, and expect them
          --peer-token-file F
                           expect the bytes of F instead
          --wait S         how many seconds to wait for a server (5)
          --json           print what was sent as a JSON object
          --quiet          tell nothing on standard error but failures
        """

    let endpoint: SocketEndpoint
    let tokens: HandshakeTokenFiles?
    let audio: String?
    let stopAfter: Int?
    let paths: [String]
    let rawFormat: (width: Int, height: Int, format: PixelFormat)?
    let fps: Double?
    let loops: Int
    let orientation: FrameOrientation
    let isPassthrough: Bool
    let padsShortBodies: Bool
    let wait: Double
    let isJSON: Bool
    let isQuiet: Bool
    let configuration: SampleUploader.Configuration
    /// The memory that JPEGs are decoded into, from one to the next.
    private let pixels = PixelBufferPool(maximumIdle: 1)

    init(_ arguments: inout Arguments) throws(UsageError) {
        fps = try arguments.number("--fps")
        let loops = try arguments.integer("--loop", in: 0...(.max)) ?? 1
        self.loops = loops == 0 ? .max : loops
        let options = try SendOptions(&arguments)
        configuration = options.configuration
        audio = try arguments.value("--audio")
        stopAfter = try arguments.integer("--stop-after", in: 1...(.max))
        tokens = try arguments.tokens()
        let orientation = try arguments.integer("--orientation", in: 0...8) ?? 1
        self.orientation = FrameOrientation(rawValue: UInt8(orientation)) ?? .unknown
        isPassthrough = arguments.flag("--passthrough")
        padsShortBodies = !arguments.flag("--no-padding")
        let size = try arguments.size("--size")
        let formats = PixelFormat.allCases.map(\.name).joined(separator: ", ")
        let format = try arguments.value("--format", "one of \(formats)") { PixelFormat(name: $0) }
        wait = try arguments.number("--wait") ?? 5
        isJSON = arguments.flag("--json")
        isQuiet = arguments.flag("--quiet")
        if isPassthrough, options.changesPictures || size != nil {
            throw UsageError(message: "--passthrough sends JPEGs as they are, and options would change them")
        }
        let rest = try arguments.rest()
        guard let path = rest.first, rest.count >= 2 else {
            throw UsageError(message: "send wants the path of a server, and pictures to send")
        }
        endpoint = try Arguments.endpoint(path)
        paths = Array(rest.dropFirst())
        guard !paths.contains("-") || paths.count == 1 else {
            throw UsageError(message: "standard input (-) can only be sent alone")
        }
        switch (size, format) {
        case (let size?, let format?) where paths == ["-"]: rawFormat = (size.width, size.height, format)
        case (nil, nil): rawFormat = nil
        default: throw UsageError(message: "raw video wants all of: -, --size and --format")
        }
        guard paths != ["-"] || loops == 1 else { throw UsageError(message: "standard input cannot be sent twice") }
    }

    private func makeSource() throws(CommandFailure) -> any PictureSource {
        if let rawFormat {
            return try RawSource(width: rawFormat.width, height: rawFormat.height, format: rawFormat.format)
        }
        if paths == ["-"] { return MJPEGSource() }
        return FileSource(try PictureFile.expand(paths), loops: loops)
    }

    func run() async throws(CommandFailure) {
        let source = try makeSource()
        let sound = try audio.map { path throws(CommandFailure) in try SoundSender(path) }
        var settings = SocketConnection.Configuration()
        settings.reopens = false
        settings.padsShortBodies = padsShortBodies
        settings.tokens = try tokens?.read()
        let connection = SocketConnection(to: endpoint, configuration: settings)
        let uploader = SampleUploader(connection: connection, configuration: configuration)
        let startedAt = Locked(MonotonicClock.now())
        let outcome: Result<Void, CommandFailure> = await Interruption.around {
            do throws(CommandFailure) {
                try await open(connection)
            } catch {
                return .failure(error)
            }
            startedAt.withLock { $0 = MonotonicClock.now() }
            return await send(source, uploader, sound)
        } end: {
            connection.close()
            _ = try? await connection.closed()
            // The last frame counts once what follows its sending is done.
            try? await uploader.finish()
            Terminal.endProgress()
            summarise(uploader.statistics, startedAt: startedAt.withLock { $0 })
        }
        try outcome.get()
    }

    private func open(_ connection: SocketConnection) async throws(CommandFailure) {
        do {
            try await connection.open(within: .seconds(wait))
        } catch {
            throw CommandFailure(ExitCode(error), error.description)
        }
    }

    /// Sends every picture; each waits until the one before is out, so that none is dropped.
    ///
    /// Sound goes along.
    private func send(
        _ source: any PictureSource,
        _ uploader: SampleUploader,
        _ sound: SoundSender?
    ) async -> Result<Void, CommandFailure> {
        let sounding = sound.map { sound in Task { await sound.send(over: uploader.connection) } }
        // Reading files and pipes blocks: it has a thread of its own.
        let result = await Task(executorPreference: IOThread()) {
            do throws(CommandFailure) {
                try await sendAll(source, uploader)
                return Result<Void, CommandFailure>.success(())
            } catch {
                return .failure(error)
            }
        }.value
        // Sound that has begun plays to its end; what nobody has asked for by now is not waited for.
        if sound?.isWanted == false { sounding?.cancel() }
        await sounding?.value
        return result
    }

    private func sendAll(_ source: any PictureSource, _ uploader: SampleUploader) async throws(CommandFailure) {
        var source = source
        let clock = ContinuousClock()
        let start = (clock.now, MonotonicClock.now())
        var count = 0
        while let picture = try source.next() {
            let offset = fps.map { Double(count) / $0 }
            if let offset { try? await clock.sleep(until: start.0 + .seconds(offset)) }
            // The pictures' own time, so that pacing follows it and not the moment at which a picture is ready.
            let outcome = try offer(picture, to: uploader, at: offset.map { start.1 &+ UInt64(min($0 * 1e9, 1e18)) })
            // Waiting for a frame that the pacing holds back would send it.
            if outcome == .taken { try? await uploader.finish() }
            count += 1
            if let error = uploader.statistics.lastEncodingError {
                throw CommandFailure(.badData, "\(picture.name): \(error)")
            }
            if try hasEnded(uploader) { return }
            if let stopAfter, uploader.statistics.sent >= stopAfter { return }
            if !isQuiet { Terminal.showProgress("\(Format.count(uploader.statistics.sent, "frame")) sent") }
        }
        // The last frame is sent, even if the pacing has held it back.
        try? await uploader.finish()
        _ = try hasEnded(uploader)
    }

    /// Returns whether the receiver has ended the connection in order.
    private func hasEnded(_ uploader: SampleUploader) throws(CommandFailure) -> Bool {
        guard let reason = uploader.connection.closeReason else { return false }
        // An orderly end by the receiver is its wish, and no failure, unless it left in the middle of a frame.
        guard let error = reason.error else {
            guard uploader.statistics.drops[.connectionLost] == nil else {
                throw CommandFailure(.unavailable, "\(endpoint): the receiver left before a frame was out")
            }
            return true
        }
        throw CommandFailure(error.code == .sendTimedOut ? .timedOut : .unavailable, "\(endpoint): \(error)")
    }

    private func offer(
        _ picture: Picture,
        to uploader: SampleUploader,
        at timestamp: UInt64?
    ) throws(CommandFailure) -> SampleUploader.Outcome {
        guard isPassthrough else {
            return uploader.send(try picture.pixels(pixels), orientation: orientation, timestamp: timestamp)
        }
        guard case .jpeg(let jpeg) = picture.content else {
            throw CommandFailure(.badData, "\(picture.name): --passthrough sends JPEGs, and this is none")
        }
        do {
            let header = try JPEGHeader(inspecting: jpeg.span)
            return uploader.send(
                jpeg: FrameBytes(copying: jpeg.span),
                bufferSize: BufferSize(width: header.width, height: header.height),
                orientation: orientation,
                timestamp: timestamp
            )
        } catch {
            throw CommandFailure(.badData, "\(picture.name): \(error)")
        }
    }

    private func summarise(_ statistics: SendingStatistics, startedAt: UInt64) {
        if isJSON {
            var line = JSONLine(event: "sent")
            line.add("offered", statistics.offered)
            line.add("frames", statistics.sent)
            line.add("bytes", statistics.bytes)
            line.add("dropped", statistics.dropped)
            try? Terminal.print(line.text)
        }
        guard !isQuiet, statistics.offered > 0 else { return }
        let seconds = Double(MonotonicClock.now() - startedAt) / 1e9
        var parts = [
            "\(Format.count(statistics.sent, "frame")) of \(statistics.offered) sent",
            Format.bytes(statistics.bytes),
            "\(Format.decimal(Double(statistics.sent) / seconds, digits: 1)) frames/s",
            "encoding \(Format.milliseconds(statistics.encoding.mean))",
            "transfer \(Format.milliseconds(statistics.transfer.mean))",
        ]
        for cause in DropCause.allCases {
            if let count = statistics.drops[cause] { parts.append("\(count) dropped: \(cause)") }
        }
        Terminal.say(parts.joined(separator: ", "))
    }
}
