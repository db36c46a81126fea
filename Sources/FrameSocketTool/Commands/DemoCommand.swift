import FrameSocket
import Locking

/// `framesocket demo`: sends the fixtures to a second process of this program and checks what arrived.
struct DemoCommand: Command {
    static let name = "demo"
    static let summary = "send sample images between two processes and compare"
    static let help = """
        Usage: framesocket demo [options]

        Starts a receiver in a separate process, sends it screenshots and photographs,
        and compares what arrived with what was sent, byte by byte and pixel by pixel.
        Then offers frames faster than they can be sent, as a live source does.

          --fixtures DIR   directory of the images (Fixtures, here or in a parent
                           directory)
          --output DIR     directory for the received images (a new temporary one)
          --quality Q      JPEG quality, 1 to 100 (80)
          --seconds S      duration of the live part (2)
          --shared         also compare JPEGs with images in shared memory
        """

    private let fixtures: String?
    private let output: String?
    let quality: Int
    private let seconds: Double
    private let comparesTransports: Bool
    /// The receivers that were started; nil once the demo is ending, after which none may start.
    private let receivers = Locked<[DemoReceiver]?>([])
    /// Whether the user has been told where the received images are.
    private let hasNamedImages = Locked(false)

    init(_ arguments: inout Arguments) throws(UsageError) {
        fixtures = try arguments.path("--fixtures")
        output = try arguments.path("--output")
        quality = try arguments.integer("--quality", in: 1...100) ?? 80
        seconds = try arguments.number("--seconds") ?? 2
        comparesTransports = arguments.flag("--shared")
        guard try arguments.rest().isEmpty else { throw UsageError(message: "demo takes no operands") }
    }

    func run() async throws(CommandFailure) {
        let sequences = try DemoSequence.all(in: fixtures)
        let received: String
        let sockets: String
        do throws(Files.Failure) {
            if let output {
                try Files.makeDirectory(output)
                received = output
            } else {
                received = try Files.makeTemporaryDirectory(named: "framesocket-demo")
            }
            // A directory of its own with a short path: socket paths are limited, and the output's may be longer.
            sockets = try Files.makeTemporaryDirectory(named: "framesocket")
        } catch {
            throw CommandFailure(.cannotCreate, error.message)
        }
        let isDone = Locked(false)
        let outcome: Result<Void, CommandFailure> = await Interruption.around {
            // Reads files and waits for processes, which must not block Swift's pool.
            defer { isDone.withLock { $0 = true } }
            return await Task(preferring: IOThread()) {
                do throws(CommandFailure) {
                    try await showEveryFrame(of: sequences, socket: sockets + "/every", received)
                    try await showLive(sequences, socket: sockets + "/live")
                    try await showSharpening(sequences, socket: sockets + "/adaptive")
                    if comparesTransports { try await showTransports(sequences, sockets: sockets) }
                    return Result<Void, CommandFailure>.success(())
                } catch {
                    return .failure(error)
                }
            }.value
        } end: {
            // Before the receivers end, since that makes the interrupted work fail.
            let isInterrupted = !isDone.withLock { $0 }
            // The directory holds their sockets.
            for receiver in receivers.withLock({ $0.take() }) ?? [] {
                receiver.stop()
                _ = await receiver.ended()
            }
            _ = unsafe rmdir(sockets)
            if output == nil, isInterrupted || !hasNamedImages.withLock({ $0 }) {
                Files.removeDirectory(received, with: Reception.isFrame)
            }
        }
        try outcome.get()
    }

    // MARK: Every frame

    /// Sends each image once and compares what arrived with what was sent.
    private func showEveryFrame(
        of sequences: [DemoSequence],
        socket: String,
        _ directory: String
    ) async throws(CommandFailure) {
        let count = sequences.reduce(0) { $0 + $1.paths.count }
        Terminal.say("Every frame: \(count) images at quality \(quality), from process to process through \(socket)")
        let arguments = [socket, "--count", "\(count)", "--output", directory, "--overwrite", "--decode", "--json"]
        let receiver = try startReceiver(arguments)
        let uploader = try await makeUploader(socket)
        try Terminal.table("sequence", "frames", "size", "a frame", "frames/s", "bytes", "PSNR, worst")
        var first = 0
        var areAllIdentical = true
        // It sees the same frames as the uploader's own, and so cuts and keeps the same strips.
        let encoder = StripEncoder()
        for sequence in sequences {
            let images = try sequence.images()
            let bytesBefore = uploader.statistics.bytes
            let startedAt = MonotonicClock.now()
            for image in images {
                uploader.send(image)
                try? await uploader.finish()
            }
            let seconds = Double(MonotonicClock.now() - startedAt) / 1e9
            let bytes = Int(uploader.statistics.bytes - bytesBefore) / images.count
            try await receiver.wait(forFrames: first + images.count)
            let comparison = try compare(images, by: encoder, with: directory, from: first)
            areAllIdentical = areAllIdentical && comparison.areIdentical
            first += images.count
            try Terminal.table(
                sequence.name,
                "\(images.count)",
                images.first.map { "\($0.width)x\($0.height)" } ?? "",
                Format.bytes(bytes),
                Format.decimal(Double(images.count) / seconds, digits: 1),
                comparison.areIdentical ? "identical" : "DIFFERENT",
                Format.decimal(comparison.worstPSNR, digits: 1) + " dB"
            )
        }
        let status = await receiver.ended()
        uploader.connection.close()
        let statistics = uploader.statistics
        Terminal.say(
            lines: """
                Sent \(statistics.sent) of \(statistics.offered), dropped \(statistics.dropped); \
                encoding \(Format.milliseconds(statistics.encoding.mean)), transfer \
                \(Format.milliseconds(statistics.transfer.mean)) per frame. \
                Received and decoded: \(receiver.counts.frames), errors: \(receiver.counts.errors).
                The received images are in \(directory)
                """
        )
        hasNamedImages.withLock { $0 = true }
        guard areAllIdentical, statistics.sent == count, receiver.counts.frames == count, status == 0 else {
            throw CommandFailure(.badData, "the received images differ from those sent")
        }
    }

    /// Compares the files that the receiver wrote with the images that were sent.
    private func compare(
        _ images: [PixelBuffer],
        by strips: StripEncoder,
        with directory: String,
        from first: Int
    ) throws(CommandFailure) -> (areIdentical: Bool, worstPSNR: Double) {
        let encoder = JPEGEncoder(quality: quality)
        let decoder = JPEGDecoder()
        var areIdentical = true
        var worst = Double.infinity
        do {
            for (index, image) in images.enumerated() {
                let arrived = try Files.contents(of: "\(directory)/\(Reception.fileName(first + index))")
                let sent = try strips.encode(image, with: encoder).jpeg
                // A short JPEG is padded when it is sent.
                let padding = [UInt8](repeating: 0, count: FramePadding.byteCount(forBodyOf: sent.count))
                areIdentical = areIdentical && arrived == sent + padding
                let jpeg = arrived[...]
                let decoded = try decoder.decode(jpeg.span, as: .bgra)
                worst = min(worst, try decoded.peakSignalToNoiseRatio(against: image))
            }
        } catch let error as Files.Failure {
            throw CommandFailure(.noInput, error.message)
        } catch {
            throw CommandFailure(.badData, "\(error)")
        }
        return (areIdentical, worst)
    }

    // MARK: Live

    /// Offers a moving screen faster than it can be sent: the latest frame is sent, and none is late.
    private func showLive(_ sequences: [DemoSequence], socket: String) async throws(CommandFailure) {
        guard let sequence = sequences.first(where: { $0.name == "desktop-window" }) ?? sequences.first else { return }
        let images = try sequence.images()
        let receiver = try startReceiver([socket, "--decode", "--json"])
        let uploader = try await makeUploader(socket)
        let clock = ContinuousClock()
        let start = clock.now
        let interval = Duration.milliseconds(2)
        var ticks = 0
        while clock.now - start < .seconds(seconds) {
            uploader.send(images[ticks % images.count])
            ticks += 1
            try? await clock.sleep(until: start + interval * ticks)
        }
        try? await uploader.finish()
        let elapsed = Double((clock.now - start).nanoseconds) / 1e9
        uploader.connection.close()
        _ = try? await uploader.connection.closed()
        let statistics = uploader.statistics
        try await receiver.wait(forFrames: statistics.sent)
        receiver.stop()
        _ = await receiver.ended()
        let drops = statistics.drops.map { "\($0.value) because \($0.key)" }.joined(separator: ", ")
        Terminal.say(
            lines: """
                Live: offered \(statistics.offered) frames in \(Format.decimal(elapsed, digits: 1)) s, sent \(statistics.sent) \
                (\(Format.decimal(Double(statistics.sent) / elapsed, digits: 0)) per second), \
                dropped: \(drops.isEmpty ? "none" : drops); received \(receiver.counts.frames).
                A frame waited \(Format.milliseconds(statistics.queueAge.mean)) to be sent, \
                at most \(Format.milliseconds(statistics.queueAge.maximum)).
                """
        )
        guard receiver.counts.frames == statistics.sent, receiver.counts.errors == 0 else {
            throw CommandFailure(.badData, "some of the frames that were sent did not arrive")
        }
    }

    func startReceiver(_ arguments: [String]) throws(CommandFailure) -> DemoReceiver {
        try receivers.withLock { receivers throws(CommandFailure) in
            // An interrupted demo removes its directories; a receiver that starts now would create them again.
            guard var started = receivers.take() else { throw CommandFailure(.interrupted, "the demo was interrupted") }
            defer { receivers = started }
            let receiver = try DemoReceiver(arguments)
            started.append(receiver)
            return receiver
        }
    }

    func makeUploader(
        _ socket: String,
        adaptation: SampleUploader.Configuration.Adaptation? = nil,
        sharing: SampleUploader.Configuration.Sharing = .off
    ) async throws(CommandFailure) -> SampleUploader {
        let connection = SocketConnection(path: socket)
        do {
            try await connection.open(within: .seconds(30))
        } catch {
            throw CommandFailure(.unavailable, "\(error)")
        }
        return SampleUploader(
            connection: connection,
            configuration: .init(quality: quality, adaptation: adaptation, sharing: sharing)
        )
    }
}

extension Terminal {
    /// Prints a row of the demo's table.
    static func table(_ name: String, _ cells: String...) throws(CommandFailure) {
        let widths = [6, 10, 9, 8, 9, 11]
        let row = zip(cells, widths).map { $0.leftPadded($1) }.joined(separator: "  ")
        do {
            try print("  " + name.rightPadded(16) + row)
        } catch {
            throw CommandFailure(.cannotCreate, error.message)
        }
    }
}
