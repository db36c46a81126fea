import CBaseline
import FrameSocket

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Pixels to pixels between two processes, against compress, write, read and decompress in C between the same two:
/// as fast as possible, and at 30 images a second.
enum ProcessBenchmarks {
    private static let size = BufferSize(width: 1920, height: 1080)

    static func all(_ options: Options) -> [Benchmark] {
        let contents: [ImageSequence.Content] = [.still, .typing, .motion]
        let saturated = contents.map { content in
            benchmark(
                "processes/\(content)",
                [.time, .senderCPU, .receiverCPU],
                content,
                frames: options.amount(30, 120),
                interval: 0,
                options
            )
        }
        let paced = contents.map { content in
            benchmark(
                "processes at 30 a second/\(content)",
                [.median, .tail, .senderCPU, .receiverCPU],
                content,
                frames: options.amount(30, 150),
                interval: 1_000_000_000 / 30,
                options
            )
        }
        return saturated + paced
    }

    private static func benchmark(
        _ name: String,
        _ metrics: [Metric],
        _ content: ImageSequence.Content,
        frames: Int,
        interval: UInt64,
        _ options: Options
    ) -> Benchmark {
        Benchmark(name: name, metrics: metrics, isSlow: interval > 0) {
            let images = try ImageSequence(.still, size, fixtures: options.fixtures)
            let baseline = BaselineCodec(for: images)
            let ends = try await Ends(content, size, fixtures: options.fixtures)
            return Benchmark.Comparison(
                baseline: {
                    try await ends.run("baseline", frames: frames, interval: interval) {
                        try baseline.receive(frames: frames, from: ends.socket)
                    }
                },
                ours: {
                    try await ends.run("ours", frames: frames, interval: interval) { try await ends.receive(frames) }
                }
            )
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

        init(_ content: ImageSequence.Content, _ size: BufferSize, fixtures: String) async throws {
            server = try FrameServer(at: SocketPath.next())
            var ends: [Int32] = [-1, -1]
            // Enough for two images of a screen.
            guard unsafe baseline_make_pair(&ends, 1 << 19) == 0 else { throw BaselineFailure() }
            defer { close(ends[0]) }
            socket = ends[1]
            sender = try ChildProcess(
                ["images", content.rawValue, fixtures, server.path, size.text],
                giving: ends[0]
            )
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
            let received = try await measure(frames) {
                sender.write("\(side) \(frames) \(interval)")
                latencies = try await receive()
            }
            let end = Double(MonotonicClock.now())
            let answer = try sender.answer()
            guard answer.count == 2 else { throw BaselineFailure() }
            var sample = Sample([.time: (end - answer[0]) / Double(frames), .senderCPU: answer[1]])
            sample[.receiverCPU] = received[.cpu]
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
}
