import CBaseline
import FrameSocket

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Pixels to pixels between two processes, against compress, write, read and decompress in C between the same two: as fast
/// as possible, and at 30 images a second.
enum ProcessBenchmarks {
    static let role = "images"

    static func all(_ options: Options) -> [Benchmark] {
        let contents = ImageSequence.Content.allCases
        return contents.map { benchmark("processes/\($0)", $0, frames: options.amount(30, 120), options) }
            + contents.map {
                benchmark(
                    "processes at 30 a second/\($0)",
                    $0,
                    frames: options.amount(30, 150),
                    interval: 1_000_000_000 / 30,
                    options
                )
            }
    }

    private static func benchmark(
        _ name: String,
        _ content: ImageSequence.Content,
        frames: Int,
        interval: UInt64 = 0,
        _ options: Options
    ) -> Benchmark {
        let metrics: [Metric] = interval > 0 ? [.median, .tail] : [.time]
        return Benchmark(name: name, metrics: metrics + [.senderCPU, .receiverCPU], isSlow: interval > 0) {
            let codec = BaselineCodec(for: try ImageSequence(.still, fixtures: options.fixtures))
            let ends = try await Ends(content, fixtures: options.fixtures)
            return (
                baseline: {
                    try await ends.run("baseline", frames: frames, interval: interval) {
                        try codec.receive(frames: frames, from: ends.socket)
                    }
                },
                ours: {
                    try await ends.run("ours", frames: frames, interval: interval) { try await ends.receive(frames) }
                }
            )
        }
    }

    /// Sends a sequence on each command, with this package or with plain C, and answers when it started and what processor
    /// time it took.
    static func serve(_ words: [String]) async throws {
        guard words.count == 4, let content = ImageSequence.Content(rawValue: words[1]) else {
            throw BenchmarkFailure()
        }
        let images = try ImageSequence(content, fixtures: words[2])
        let codec = BaselineCodec(for: images)
        let client = try await SocketConnection.open(to: words[3], on: .shared)
        let uploader = SampleUploader(connection: client)
        while let words = readLine()?.split(separator: " "), words.count == 3 {
            guard let frames = Int(words[1]), let interval = UInt64(words[2]) else { throw BenchmarkFailure() }
            var start = Int64(MonotonicClock.now())
            let sample = try await measure(frames) {
                if words[0] == "baseline" {
                    let socket = ChildProcess.firstDescriptor
                    start = try codec.send(images, frames: frames, interval: interval, to: socket)
                } else if interval > 0 {
                    try await uploader.submit(frames, interval: interval) { uploader.send(images[$0]) }
                } else {
                    for index in 0..<frames {
                        guard uploader.send(images[index]) == .taken else { throw BenchmarkFailure() }
                        try await uploader.finish()
                    }
                }
            }
            ChildProcess.answer(Double(start), sample[.cpu] ?? 0)
        }
        client.close()
        _ = try await client.closed()
    }
}

/// The receiving process, this one, with its two connections to the sending one: a plain socket and ours.
private final class Ends: Sendable {
    /// The baseline's end.
    let socket: Int32
    private let server: FrameServer
    private let connection: FrameConnection
    private let sender: ChildProcess
    private let decoder = FrameDecoder()

    init(_ content: ImageSequence.Content, fixtures: String) async throws {
        server = try FrameServer(at: SocketPath.next())
        var ends: [Int32] = [-1, -1]
        // Enough for two images of a screen.
        guard unsafe baseline_make_pair(&ends, 1 << 19) == 0 else { throw BenchmarkFailure() }
        defer { close(ends[0]) }
        socket = ends[1]
        sender = try ChildProcess([ProcessBenchmarks.role, content.rawValue, fixtures, server.path], giving: [ends[0]])
        connection = try await server.nextConnection()
    }

    deinit {
        close(socket)
    }

    /// Makes the other process send, and returns the cost for both.
    ///
    /// `receive` receives the images, and returns the age of each.
    func run(
        _ side: String,
        frames: Int,
        interval: UInt64,
        receive: () async throws -> [Int64]
    ) async throws -> Sample {
        var latencies: [Int64] = []
        var sample = try await measure(frames) {
            sender.write("\(side) \(frames) \(interval)")
            latencies = try await receive()
        }
        let end = Double(MonotonicClock.now())
        let answer = try sender.answer()
        guard answer.count == 2 else { throw BenchmarkFailure() }
        sample[.time] = (end - answer[0]) / Double(frames)
        sample[.senderCPU] = answer[1]
        sample[.receiverCPU] = sample[.cpu]
        sample.add(latencies: latencies)
        return sample
    }

    /// Receives and decodes frames of this package.
    func receive(_ frames: Int) async throws -> [Int64] {
        try await Task(preferring: connection.thread) { [connection, decoder] in
            try await connection.receive(frames) { _ = try decoder.decode($0, as: .bgra) }
        }.value
    }
}
