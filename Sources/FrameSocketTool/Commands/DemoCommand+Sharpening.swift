import FrameSocket

extension DemoCommand {
    /// Sends a moving screen at two thirds of the bytes that five frames a second take, until it stands still: its quality
    /// falls while it moves, and then the last image is sent again.
    func showSharpening(_ sequences: [DemoSequence], socket: String) async throws(CommandFailure) {
        guard let sequence = sequences.first(where: { $0.name == "desktop-window" }) ?? sequences.first else { return }
        let images = try sequence.images()
        let byteCount: Int
        do {
            byteCount = try JPEGEncoder(quality: quality).encode(images[0]).count
        } catch {
            throw CommandFailure(.badData, "\(error)")
        }
        let receiver = try startReceiver([socket, "--decode", "--json"])
        let uploader = try await makeUploader(
            socket,
            adaptation: .init(maximumByteRate: max(1, byteCount * 10 / 3), minimumQuality: min(30, quality))
        )
        let clock = ContinuousClock()
        let start = clock.now
        for tick in 1...45 {
            uploader.send(images[tick % images.count])
            try? await clock.sleep(until: start + .milliseconds(33) * tick)
        }
        let moving = uploader.statistics
        let stop = clock.now
        while let latest = uploader.statistics.quality, latest < quality, clock.now < stop + .seconds(10) {
            try? await clock.sleep(for: .milliseconds(5))
        }
        try? await uploader.finish()
        let seconds = Double((clock.now - stop).nanoseconds) / 1e9
        uploader.connection.close()
        _ = try? await uploader.connection.closed()
        let statistics = uploader.statistics
        try await receiver.wait(forFrames: statistics.sent + statistics.repeats)
        receiver.stop()
        _ = await receiver.ended()
        Terminal.say(
            lines: """
                Adaptive, at most \(Format.bytes(max(1, byteCount * 10 / 3))) a second: \(moving.sent) frames in 1.5 s, the last at \
                quality \(moving.quality ?? quality); at quality \(statistics.quality ?? quality) \
                \(Format.decimal(seconds, digits: 2)) s after the screen stood still.
                """
        )
        guard statistics.quality == quality, receiver.counts.errors == 0 else {
            throw CommandFailure(.badData, "the screen that stood still did not become sharp")
        }
    }
}
