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

        Sends every picture to the server at PATH, in order. FILE is a JPEG, PNG or PNM
        file, or a directory of them; - is a stream of JPEGs, one after another, on
        standard input, or raw video where its size and format are given.

          --fps N          at most N frames a second; without it, as fast as they are
                           taken
          --loop N         send the files N times; 0 for ever
          --quality Q      quality of the JPEGs, 1 to 100 (80)
          --subsampling S  4:4:4, 4:2:2, 4:2:0, 4:4:0, 4:1:1 or gray (4:2:0)
          --scale N/D      send a fraction of width and height
          --orientation N  1 to 8, as the pictures lie (1); 0 for unknown
          --passthrough    send JPEGs as they are
          --plain          send no fields but those that deployed senders send
          --no-padding     do not pad bodies under 10,240 bytes, which wedges deployed
                           receivers
          --size WxH       size of raw video
          --format FORMAT  format of raw video, one of
                           \(PixelFormat.allCases.map(\.name).joined(separator: " "))
          --wait S         how many seconds to wait for a server (5)
          --json           print what was sent as a JSON object
          --quiet          tell nothing on standard error but failures
        """

    let path: String
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

    init(_ arguments: inout Arguments) throws(UsageError) {
        fps = try arguments.number("--fps")
        let loops = try arguments.integer("--loop", in: 0...(.max)) ?? 1
        self.loops = loops == 0 ? .max : loops
        let quality = try arguments.integer("--quality", in: 1...100)
        let subsampling = try arguments.value("--subsampling", "4:4:4, 4:2:2, 4:2:0, 4:4:0, 4:1:1 or gray") {
            ChromaSubsampling(name: $0)
        }
        let scale = try arguments.value("--scale", "a fraction such as 1/2") { OutputScale(parsing: $0) }
        let orientation = try arguments.integer("--orientation", in: 0...8) ?? 1
        self.orientation = FrameOrientation(rawValue: UInt8(orientation)) ?? .unknown
        isPassthrough = arguments.flag("--passthrough")
        let isPlain = arguments.flag("--plain")
        padsShortBodies = !arguments.flag("--no-padding")
        let size = try arguments.value("--size", "a size such as 1920x1080") { Self.parseSize($0) }
        let formats = PixelFormat.allCases.map(\.name).joined(separator: ", ")
        let format = try arguments.value("--format", "one of \(formats)") { PixelFormat(name: $0) }
        wait = try arguments.number("--wait") ?? 5
        isJSON = arguments.flag("--json")
        isQuiet = arguments.flag("--quiet")
        configuration = SampleUploader.Configuration(
            quality: quality ?? 80,
            scale: scale ?? .full,
            subsampling: subsampling ?? .yuv420,
            sendsTiming: !isPlain
        )
        if isPassthrough, quality != nil || subsampling != nil || scale != nil || size != nil {
            throw UsageError(
                message: "--passthrough sends JPEGs as they are: no --quality, --subsampling, --scale or --size"
            )
        }
        let rest = try arguments.rest()
        guard let path = rest.first, rest.count >= 2 else {
            throw UsageError(message: "send wants the path of a server, and pictures to send")
        }
        self.path = path
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

    private static func parseSize(_ text: String) -> (width: Int, height: Int)? {
        let parts = text.split(separator: "x", omittingEmptySubsequences: false).map { Int($0) }
        guard parts.count == 2, let width = parts[0], let height = parts[1], width > 0, height > 0 else { return nil }
        return (width, height)
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
        var settings = SocketConnection.Configuration()
        settings.reopens = false
        settings.padsShortBodies = padsShortBodies
        let connection = SocketConnection(path: path, configuration: settings)
        let uploader = SampleUploader(connection: connection, configuration: configuration)
        let startedAt = Locked(MonotonicClock.now())
        let outcome: Result<Void, CommandFailure> = await Interruption.around {
            do throws(CommandFailure) {
                try await open(connection)
            } catch {
                return .failure(error)
            }
            startedAt.withLock { $0 = MonotonicClock.now() }
            return await send(source, uploader)
        } end: {
            connection.close()
            _ = await connection.closed()
            Terminal.endProgress()
            summarise(uploader.statistics, startedAt: startedAt.withLock { $0 })
        }
        try outcome.get()
    }

    private func open(_ connection: SocketConnection) async throws(CommandFailure) {
        do {
            try await connection.open(within: .seconds(wait))
        } catch {
            throw CommandFailure(error.code == .openTimedOut ? .unavailable : .cannotCreate, error.description)
        }
    }

    /// Sends every picture; each waits until the one before is out, so that none is dropped.
    private func send(_ source: any PictureSource, _ uploader: SampleUploader) async -> Result<Void, CommandFailure> {
        // Reading files and pipes blocks: it has a thread of its own.
        await Task(executorPreference: IOThread()) {
            do throws(CommandFailure) {
                try await sendAll(source, uploader)
                return Result<Void, CommandFailure>.success(())
            } catch {
                return .failure(error)
            }
        }.value
    }

    private func sendAll(_ source: any PictureSource, _ uploader: SampleUploader) async throws(CommandFailure) {
        var source = source
        let clock = ContinuousClock()
        let start = clock.now
        var count = 0
        while let picture = try source.next() {
            if let fps { try? await clock.sleep(until: start + .seconds(Double(count) / fps)) }
            try offer(picture, to: uploader)
            await uploader.finish()
            count += 1
            if let error = uploader.statistics.lastEncodingError {
                throw CommandFailure(.badData, "\(picture.name): \(error)")
            }
            if let reason = uploader.connection.closeReason {
                // An orderly end by the receiver is its wish, and no failure.
                guard let error = reason.error else { return }
                throw CommandFailure(error.code == .sendTimedOut ? .timedOut : .unavailable, "\(path): \(error)")
            }
            if !isQuiet { Terminal.showProgress("\(Format.count(uploader.statistics.sent, "frame")) sent") }
        }
    }

    private func offer(_ picture: Picture, to uploader: SampleUploader) throws(CommandFailure) {
        guard isPassthrough else {
            uploader.send(try picture.pixels(), orientation: orientation)
            return
        }
        guard case .jpeg(let jpeg) = picture.content else {
            throw CommandFailure(.badData, "\(picture.name): --passthrough sends JPEGs, and this is none")
        }
        do {
            let header = try JPEGHeader(inspecting: jpeg.span)
            uploader.send(
                jpeg: FrameBytes(copying: jpeg.span),
                bufferSize: BufferSize(width: header.width, height: header.height),
                orientation: orientation
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
