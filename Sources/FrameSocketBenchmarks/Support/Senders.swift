import FrameSocket
import Locking

/// Many senders on one thread, and their receiver on another.
struct Senders {
    private let server: FrameServer
    private let pairs: [(client: SocketConnection, connection: FrameConnection)]

    /// Connects the senders to a server that reads on this many threads.
    init(_ count: Int, threads: Int) async throws {
        server = try .forMany(threads: threads)
        pairs = try await server.connectClients(count)
    }

    /// Sends `frames` frames from each, and returns what fraction of them the slowest had sent when the fastest was
    /// done.
    func run(_ frames: Int) async throws -> Double {
        let message = FrameMessage(
            jpeg: FrameBytes(copying: [UInt8](repeating: 1, count: 50_000)),
            info: FrameInfo(bufferSize: BufferSize(width: 1920, height: 1080))
        )
        let progress = Locked(Progress(received: [Int](repeating: 0, count: pairs.count)))
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (index, pair) in pairs.enumerated() {
                group.addTask(preferring: pair.client.thread) {
                    for _ in 0..<frames { try await pair.client.send(message) }
                }
                group.addTask(preferring: pair.connection.thread) {
                    _ = try await pair.connection.receive(frames) { _ in
                        progress.withLock { $0.count(index, of: frames) }
                    }
                }
            }
            try await group.waitForAll()
        }
        return progress.withLock { $0.shareOfSlowest ?? 0 }
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
