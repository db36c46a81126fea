import FrameSocket

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The same by GStreamer's shmsink and shmsrc, between two processes of gst-launch-1.0.
///
/// One image is sent again and again, so that nothing is drawn, or `/dev/zero` is read into the pool if all of it is to be
/// drawn. Frames are counted by the receiver's fpsdisplaysink; CPU times are those of both processes between two of its
/// reports.
struct ShmSink {
    static let name = "shmsink"

    /// Runs the scenario; nil if GStreamer is missing or cannot do it.
    let run: Benchmark.Run?
    /// What the figures do not contain, and why.
    let notes: [String]

    init(_ scenario: LaneScenario) {
        if let reason = Self.reasonAgainst(scenario) {
            run = nil
            notes = ["lane: \(reason)"]
        } else {
            run = { try await Self.run(scenario) }
            let latency = "lane: shmsink without p50 and p99: gst-launch-1.0 does not tell when a frame was submitted."
            let reading = "lane: shmsink's receiver reads the start of each row by videocrop, which copies that part."
            notes = scenario.bytesReadPerRow > 0 ? [latency, reading] : [latency]
        }
    }

    /// Why there are no figures for a scenario; nil if there are.
    private static func reasonAgainst(_ scenario: LaneScenario) -> String? {
        guard isInstalled else {
            return "no shmsink: gst-launch-1.0 or a plugin is missing. Install gstreamer1.0-tools, "
                + "gstreamer1.0-plugins-good and gstreamer1.0-plugins-bad."
        }
        switch scenario.mode {
        case .inPlace where scenario.interval == 0:
            return "no shmsink flat out in place: with one buffer sent again and again it fills its socket and stops."
        case .typing:
            return "no shmsink for typing: it copies everything, whatever has changed."
        default:
            return nil
        }
    }

    private static let isInstalled = [
        "shmsink", "shmsrc", "videotestsrc", "imagefreeze", "videocrop", "fpsdisplaysink",
    ]
    .allSatisfy { element in
        (try? Command(["gst-inspect-1.0", "--exists", element]))?.wait() == 0
    }

    // MARK: Running

    private static func run(_ scenario: LaneScenario) async throws -> Sample {
        let path = SocketPath.next()
        let sender = try Command(["gst-launch-1.0", "-q"] + sending(scenario, to: path))
        defer { sender.interrupt() }
        try await sender.waitForFile(at: path)
        let receiver = try Command(["gst-launch-1.0", "-v"] + receiving(scenario, from: path))
        defer { receiver.interrupt() }
        var start: Usage?
        // The first report is of the time in which the pipelines start.
        var reports = 0
        while let line = try receiver.line(within: .seconds(10)) {
            guard let frames = renderedFrames(line) else { continue }
            reports += 1
            guard reports > 1 else { continue }
            let now = try Usage(frames, sender, receiver)
            if let start, frames - start.frames >= scenario.frames { return now.sample(since: start) }
            if start == nil { start = now }
        }
        throw BaselineFailure()
    }

    /// What both processes have used at a time, and how many frames have arrived.
    private struct Usage {
        let frames: Int
        private let time: UInt64
        private let sender: UInt64
        private let receiver: UInt64

        init(_ frames: Int, _ sender: Command, _ receiver: Command) throws {
            self.frames = frames
            time = MonotonicClock.now()
            self.sender = try sender.processTime
            self.receiver = try receiver.processTime
        }

        func sample(since start: Usage) -> Sample {
            func each(_ before: UInt64, _ after: UInt64) -> Double {
                Double(after - before) / Double(frames - start.frames)
            }
            let (senderCPU, receiverCPU) = (each(start.sender, sender), each(start.receiver, receiver))
            return Sample([
                .time: each(start.time, time),
                .cpu: senderCPU + receiverCPU,
                .senderCPU: senderCPU,
                .receiverCPU: receiverCPU,
            ])
        }
    }

    /// The number of frames that fpsdisplaysink reports in a line, such as `rendered: 126, dropped: 0`.
    private static func renderedFrames(_ line: String) -> Int? {
        let words = line.split(separator: " ")
        guard let index = words.firstIndex(of: "rendered:"), index + 1 < words.count else { return nil }
        return Int(words[index + 1].filter(\.isNumber))
    }

    // MARK: Pipelines

    private static func sending(_ scenario: LaneScenario, to path: String) -> [String] {
        // An end, in case this process cannot interrupt it.
        let count = "num-buffers=\(scenario.frames + 20_000)"
        let source: [String]
        if scenario.mode == .drawn {
            source = ["filesrc", "location=/dev/zero", "blocksize=\(scenario.format.byteCount)", count]
        } else {
            // Without an offer of shared memory the image lies elsewhere, and shmsink copies it.
            let copying = scenario.mode == .inPlace ? [] : ["identity", "drop-allocation=true", "!"]
            source =
                ["videotestsrc", "num-buffers=1", "!", caps(scenario, framesPerSecond: 1), "!"] + copying
                + ["imagefreeze", "is-live=\(scenario.interval > 0)", count, "!", caps(scenario)]
        }
        // As many frames as the other pools have, and what the allocator adds.
        let size = 3 * (scenario.format.byteCount + 65_536)
        return source + ["!", "shmsink", "socket-path=\(path)", "shm-size=\(size)", "sync=false"]
    }

    private static func receiving(_ scenario: LaneScenario, from path: String) -> [String] {
        let width = scenario.format.size.width
        let pixels = scenario.bytesReadPerRow / (scenario.format.pixels == .nv12 ? 1 : 4)
        // At least two columns less: a frame that stays whole would not be read at all.
        let reading = pixels == 0 ? [] : ["videocrop", "right=\(max(2, width - pixels))", "!"]
        let source = ["shmsrc", "socket-path=\(path)", "is-live=true", "do-timestamp=true", "!", caps(scenario), "!"]
        return source + reading
            + [
                "fpsdisplaysink", "text-overlay=false", "video-sink=fakesink sync=false", "sync=false",
                "fps-update-interval=250",
            ]
    }

    private static func caps(_ scenario: LaneScenario, framesPerSecond: Int? = nil) -> String {
        let (format, size) = (scenario.format.pixels.name.uppercased(), scenario.format.size)
        // Flat out any rate will do: nothing waits for its time.
        let rate = framesPerSecond ?? (scenario.interval > 0 ? 60 : 1000)
        return "video/x-raw,format=\(format),width=\(size.width),height=\(size.height),framerate=\(rate)/1"
    }
}
