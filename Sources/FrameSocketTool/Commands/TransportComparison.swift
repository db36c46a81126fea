import FrameSocket

/// The cost of frames that were sent one after the other in one way.
struct TransportCost {
    /// The number of frames.
    let frames: Int
    /// The number of these in shared memory.
    let shared: Int
    /// The duration in seconds.
    let seconds: Double
    /// The CPU time of both processes in seconds.
    let processorSeconds: Double

    /// The cells of a table's row.
    var cells: [String] {
        let milliseconds = processorSeconds * 1000 / Double(max(frames, 1))
        return [
            "\(frames)", "\(shared)",
            Format.decimal(Double(frames) / seconds, digits: 1),
            Format.decimal(milliseconds, digits: 2) + " ms",
        ]
    }
}

/// The CPU time of this process, and of the processes that it has started and that have ended.
struct ProcessorTime {
    /// User and system time in seconds.
    let seconds: Double

    init() {
        // RUSAGE_SELF and RUSAGE_CHILDREN, whose types differ from those of the parameter on Linux.
        seconds = Self.seconds(of: 0) + Self.seconds(of: -1)
    }

    private static func seconds(of who: Int32) -> Double {
        var usage = rusage()
        guard unsafe getrusage(who, &usage) == 0 else { return 0 }
        let microseconds = usage.ru_utime.tv_usec + usage.ru_stime.tv_usec
        return Double(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) + Double(microseconds) / 1e6
    }
}

extension DemoCommand {
    /// Sends the same images as JPEGs and in shared memory, each as fast as the receiver decodes them.
    func showTransports(_ sequences: [DemoSequence], sockets: String) async throws(CommandFailure) {
        guard let sequence = sequences.first(where: { $0.name == "desktop-window" }) ?? sequences.first else { return }
        let images = try sequence.images()
        let size = images.first.map { "\($0.width)x\($0.height)" } ?? ""
        Terminal.say("Transports: images of \(size), decoded to pixels by the receiver, CPU time of both processes")
        try Terminal.table("transport", "frames", "shared", "frames/s", "a frame")
        for (name, sharing) in [("JPEG", SampleUploader.Configuration.Sharing.off), ("shared memory", .allowed())] {
            let cost = try await cost(of: images, sharing, socket: "\(sockets)/\(sharing == .off ? "jpeg" : "shared")")
            let cells = cost.cells
            try Terminal.table(name, cells[0], cells[1], cells[2], cells[3])
        }
    }

    private func cost(
        of images: [PixelBuffer],
        _ sharing: SampleUploader.Configuration.Sharing,
        socket: String
    ) async throws(CommandFailure) -> TransportCost {
        let before = ProcessorTime()
        let receiver = try startReceiver([socket, "--decode", "--json"] + (sharing == .off ? [] : ["--shared"]))
        let uploader = try await makeUploader(socket, sharing: sharing)
        let startedAt = MonotonicClock.now()
        let count = 4 * images.count
        for index in 0..<count {
            uploader.send(images[index % images.count])
            try? await uploader.finish()
        }
        let seconds = Double(MonotonicClock.now() - startedAt) / 1e9
        try await receiver.wait(forFrames: count)
        uploader.connection.close()
        receiver.stop()
        _ = await receiver.ended()
        let statistics = uploader.statistics
        guard receiver.counts.frames == count, statistics.sent == count, receiver.counts.errors == 0 else {
            throw CommandFailure(.badData, "\(receiver.counts.frames) of \(count) frames arrived")
        }
        return TransportCost(
            frames: count,
            shared: statistics.shared,
            seconds: seconds,
            processorSeconds: ProcessorTime().seconds - before.seconds
        )
    }
}
