import CBaseline
import FrameSocket

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Frames of given sizes through a socket, against a plain loop of sendmsg and recv.
enum TransportBenchmarks {
    static func all(isQuick: Bool) -> [Benchmark] {
        [(4096, "4 kB", 4000), (50_000, "50 kB", 4000), (200_000, "200 kB", 2000), (1_000_000, "1 MB", 400)]
            .flatMap { bytes, label, frames in
                let frames = isQuick ? frames / 4 : frames
                return [true, false].map { isOnOwnThread in
                    Benchmark(
                        name: "transport/\(label)/\(isOnOwnThread ? "own executor" : "default pool")",
                        repetitions: frames,
                        baseline: { try baselineTime(baseline_transport(Int32(frames), 107, bytes)) },
                        ours: { try await run(frames: frames, bytes: bytes, isOnOwnThread: isOnOwnThread) }
                    )
                }
            }
    }

    private static func run(frames: Int, bytes: Int, isOnOwnThread: Bool) async throws -> UInt64 {
        let path = "/tmp/framesocket-bench-\(getpid())"
        let server = try FrameServer(at: path)
        // The two ends of the baseline are two threads as well.
        var settings = SocketConnection.Configuration()
        settings.thread = IOThread()
        settings.padsShortBodies = false
        let client = SocketConnection(path: path, configuration: settings)
        try await client.open(within: .seconds(5))
        var connections = server.connections.makeAsyncIterator()
        guard let connection = try await connections.next() else { throw BaselineFailure() }
        let message = FrameMessage(
            jpeg: FrameBytes(copying: [UInt8](repeating: 1, count: bytes).span),
            bufferSize: BufferSize(width: 1920, height: 1080)
        )
        let took = try await time {
            let sending = Task(executorPreference: client.thread) {
                for _ in 0..<frames { try await client.send(message) }
            }
            let receiving = Task(executorPreference: isOnOwnThread ? connection.thread : nil) {
                var count = 0
                for try await _ in connection.frames {
                    count += 1
                    if count == frames { break }
                }
            }
            try await sending.value
            try await receiving.value
        }
        client.close()
        server.close()
        await server.closed()
        return took
    }
}
