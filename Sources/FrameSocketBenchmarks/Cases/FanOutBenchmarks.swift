import FrameSocket
import Locking

/// One sender's frames for several readers in the receiving process: the cost of another reader.
enum FanOutBenchmarks {
    static func all(_ options: Options) -> [Benchmark] {
        [1, 10, 100].map { count in
            let frames = options.amount(200, 2000)
            return Benchmark(name: "fan-out/\(count) readers", metrics: [.time, .cpu, .allocations, .copied]) {
                let readers = try await Readers(count)
                return Benchmark.Comparison(ours: { try await measure(frames) { try await readers.run(frames) } })
            }
        }
    }
}

/// A sender of 50 kB frames and its readers, in Swift's pool.
private final class Readers: Sendable {
    private let server: FrameServer
    private let client: SocketConnection
    private let readers: [FrameConnection.Broadcaster.Reader]
    /// How many readers have not got the latest frame yet.
    private let missing = Locked(0)

    init(_ count: Int) async throws {
        server = try .forMany()
        let pair = try await server.connectClients(1)[0]
        client = pair.client
        let fanOut = FrameConnection.Broadcaster(of: pair.connection)
        readers = (0..<count).map { _ in fanOut.reader() }
    }

    /// Sends `frames` frames, each once every reader has the previous one.
    func run(_ frames: Int) async throws {
        let message = FrameMessage(
            jpeg: FrameBytes(copying: [UInt8](repeating: 1, count: 50_000)),
            info: FrameInfo(bufferSize: BufferSize(width: 1920, height: 1080))
        )
        let (everybody, has) = AsyncStream.makeStream(of: Void.self)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for reader in readers {
                group.addTask {
                    var iterator = reader.makeAsyncIterator()
                    for _ in 0..<frames {
                        guard try await iterator.next() != nil else { throw BaselineFailure() }
                        let isLast = self.missing.withLock { missing in
                            missing -= 1
                            return missing == 0
                        }
                        if isLast { has.yield() }
                    }
                }
            }
            group.addTask {
                var turns = everybody.makeAsyncIterator()
                for _ in 0..<frames {
                    self.missing.withLock { $0 = self.readers.count }
                    try await self.client.send(message)
                    await turns.next()
                }
            }
            try await group.waitForAll()
        }
    }
}
