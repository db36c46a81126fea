import CBaseline
import FrameSocket
import Locking

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The receiver of many senders, which are in other processes: what is measured is the receiver alone.
struct Senders {
    /// How many processes share the senders, each of them on one thread.
    private static let processCount = 8

    private let count: Int
    private let processes: [ChildProcess]
    private let baseline: BaselineEnds
    private let server: FrameServer
    private let connections: [FrameConnection]

    /// Starts the processes, and has them connect to the baseline and to a server that reads on this many threads.
    init(_ count: Int, threads: Int) async throws {
        let path = SocketPath.next()
        let listener = unsafe baseline_listen(path)
        guard listener >= 0 else { throw BaselineFailure() }
        defer { close(listener) }
        let server = try FrameServer.forMany(threads: threads)
        let processCount = min(count, Self.processCount)
        processes = try (0..<processCount).map { _ in
            try ChildProcess(["senders", "\(count / processCount)", path, server.path])
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
                    group.addTask(preferring: connection.thread) {
                        _ = try await connection.receive(frames) { _ in
                            progress.withLock { $0.count(index, of: frames) }
                        }
                    }
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

extension FrameServer {
    /// A server to which many may connect and stay silent.
    static func forMany(threads: Int = 1) throws -> FrameServer {
        var configuration = Configuration()
        configuration.thread = IOThread()
        if threads > 1 { configuration.readers = (0..<threads).map { _ in IOThread() } }
        configuration.limits.maximumConnections = 1024
        configuration.limits.firstFrameTimeout = nil
        return try FrameServer(at: SocketPath.next(), configuration: configuration)
    }

    /// Connects senders of this package, all on one thread.
    func connectClients(_ count: Int) async throws -> [(client: SocketConnection, connection: FrameConnection)] {
        let thread = IOThread()
        var pairs: [(client: SocketConnection, connection: FrameConnection)] = []
        for _ in 0..<count {
            let client = SocketConnection(path: path, configuration: .benchmark(on: thread))
            try await client.open(within: .seconds(5))
            pairs.append((client, try await nextConnection()))
        }
        return pairs
    }
}
