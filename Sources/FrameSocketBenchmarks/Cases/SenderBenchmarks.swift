import CBaseline
import FrameSocket
import Locking

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// One receiver of many senders in other processes: the cost of a frame for the receiver alone, and the share of each
/// sender.
enum SenderBenchmarks {
    static let role = "senders"

    static func all(_ options: Options) -> [Benchmark] {
        [1, 64, 512].map { count in
            let frames = max(options.amount(8, 64), options.amount(1024, 8192) / count)
            return Benchmark(name: "senders/\(count)", metrics: [.time, .receiverCPU, .fairness]) {
                let senders = try await Senders(count)
                return (
                    baseline: { try await senders.runBaseline(frames) }, ours: { try await senders.runOurs(frames) }
                )
            }
        }
    }

    /// Sends frames from many senders on each command, with this package or with plain C, and answers when all are sent.
    static func serve(_ words: [String]) async throws {
        guard words.count == 4, let count = Int(words[1]) else { throw BenchmarkFailure() }
        let baseline = try BaselineEnds(connecting: count, to: words[2])
        let thread = IOThread()
        var clients: [SocketConnection] = []
        for _ in 0..<count { clients.append(try await .open(to: words[3], on: thread)) }
        let message = FrameMessage.benchmark
        while let words = readLine()?.split(separator: " "), words.count == 2, let frames = Int(words[1]) {
            if words[0] == "baseline" {
                try baseline.send(frames)
            } else {
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for client in clients {
                        let sending = Task(preferring: client.thread) { [client, message, frames] in
                            for _ in 0..<frames { try await client.send(message) }
                        }
                        group.addTask { try await sending.value }
                    }
                    try await group.waitForAll()
                }
            }
            ChildProcess.answer()
        }
    }
}

/// The receiving process, this one, with its connections to the senders: plain ones and ours.
private struct Senders {
    /// How many processes share the senders, each of them on one thread.
    private static let processCount = 8

    private let count: Int
    private let processes: [ChildProcess]
    private let baseline: BaselineEnds
    private let server: FrameServer
    private let connections: [FrameConnection]

    /// Starts the processes, and has them connect to the baseline and to a server.
    init(_ count: Int) async throws {
        let path = SocketPath.next()
        let listener = unsafe baseline_listen(path)
        guard listener >= 0 else { throw BenchmarkFailure() }
        defer { close(listener) }
        let server = try FrameServer.forMany()
        let processCount = min(count, Self.processCount)
        processes = try (0..<processCount).map { _ in
            try ChildProcess([SenderBenchmarks.role, "\(count / processCount)", path, server.path])
        }
        baseline = try BaselineEnds(accepting: count, from: listener)
        var connections: [FrameConnection] = []
        for _ in 0..<count { connections.append(try await server.nextConnection()) }
        (self.count, self.server, self.connections) = (count, server, connections)
    }

    /// Receives `frames` frames from each sender with plain C.
    func runBaseline(_ frames: Int) async throws -> Sample {
        try await run("baseline", frames) { try baseline.receive(frames) }
    }

    /// Receives `frames` frames from each sender with this package.
    func runOurs(_ frames: Int) async throws -> Sample {
        try await run("ours", frames) {
            let progress = Locked(Progress(received: [Int](repeating: 0, count: count)))
            try await withThrowingTaskGroup(of: Void.self) { group in
                for (index, connection) in connections.enumerated() {
                    let receiving = Task(preferring: connection.thread) {
                        _ = try await connection.receive(frames) { _ in
                            progress.withLock { $0.count(index, of: frames) }
                        }
                    }
                    group.addTask { try await receiving.value }
                }
                try await group.waitForAll()
            }
            return progress.withLock { $0.shareOfSlowest ?? 0 }
        }
    }

    /// Makes the processes send, and returns what this one uses until `receive` has everything.
    ///
    /// `receive` returns the fairness.
    private func run(_ side: String, _ frames: Int, receive: () async throws -> Double) async throws -> Sample {
        var fairness = 0.0
        var sample = try await measure(frames * count) {
            for process in processes { process.write("\(side) \(frames)") }
            fairness = try await receive()
        }
        // The next run starts when all of them are waiting again.
        for process in processes { _ = try process.answer() }
        sample[.receiverCPU] = sample[.cpu]
        sample[.fairness] = fairness
        return sample
    }

    /// The progress of each.
    private struct Progress {
        var received: [Int]
        var shareOfSlowest: Double?

        mutating func count(_ index: Int, of frames: Int) {
            received[index] += 1
            guard received[index] == frames, shareOfSlowest == nil, let least = received.min() else { return }
            shareOfSlowest = Double(least) / Double(frames)
        }
    }
}

/// Owns one end of the baseline's connections: all senders of a process, or the receiver.
///
/// - Note: `@unchecked Sendable` holds because one side of one case uses it at a time.
@safe private final class BaselineEnds: @unchecked Sendable {
    /// The size of a message: a frame and its header.
    private static let messageBytes = FrameMessage.benchmarkBytes + 107

    private let ends: OpaquePointer

    /// Connects senders.
    init(connecting count: Int, to path: String) throws {
        guard let ends = unsafe baseline_ends_connect(path, Int32(count), Self.messageBytes) else {
            throw BenchmarkFailure()
        }
        unsafe self.ends = unsafe ends
    }

    /// Waits until as many senders have connected.
    init(accepting count: Int, from listener: Int32) throws {
        guard let ends = unsafe baseline_ends_accept(listener, Int32(count), Self.messageBytes) else {
            throw BenchmarkFailure()
        }
        unsafe self.ends = unsafe ends
    }

    deinit {
        unsafe baseline_ends_destroy(ends)
    }

    /// Sends as many frames from each.
    func send(_ frames: Int) throws {
        guard unsafe baseline_ends_send(ends, Int32(frames)) == 0 else { throw BenchmarkFailure() }
    }

    /// Receives as many frames from each, and returns what fraction of them the slowest had sent when the fastest was done.
    func receive(_ frames: Int) throws -> Double {
        let fairness = unsafe baseline_ends_receive(ends, Int32(frames))
        guard fairness >= 0 else { throw BenchmarkFailure() }
        return fairness
    }
}
