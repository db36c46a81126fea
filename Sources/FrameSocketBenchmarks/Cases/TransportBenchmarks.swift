import CBaseline
import Dispatch
import FrameSocket

/// Frames of 50 kB through a socket, against a plain loop of sendmsg and recv: as fast as possible, and at 60 frames a
/// second.
enum TransportBenchmarks {
    static func all(_ options: Options) -> [Benchmark] {
        let frames = options.amount(1000, 4000)
        return [
            benchmark("transport/50 kB/own executor", frames: frames, isOnOwnThread: true),
            benchmark("transport/50 kB/default pool", frames: frames, isOnOwnThread: false),
            benchmark(
                "60 a second/50 kB/own executor",
                frames: options.amount(60, 300),
                interval: 1_000_000_000 / 60,
                isOnOwnThread: true
            ),
        ]
    }

    private static func benchmark(_ name: String, frames: Int, interval: UInt64 = 0, isOnOwnThread: Bool) -> Benchmark {
        let isPaced = interval > 0
        return Benchmark(name: name, metrics: isPaced ? [.median, .tail, .cpu] : [.time, .cpu], isSlow: isPaced) {
            let baseline = try BaselineLink()
            let link = try await Link()
            func sample(_ run: () async throws -> [Int64]) async throws -> Sample {
                var latencies: [Int64] = []
                var sample = try await measure(frames) { latencies = try await run() }
                sample.add(latencies: latencies)
                return sample
            }
            return (
                baseline: { try await sample { try baseline.run(frames: frames, interval: interval) } },
                ours: {
                    try await sample {
                        try await link.run(frames: frames, interval: interval, isOnOwnThread: isOnOwnThread)
                    }
                }
            )
        }
    }
}

/// Owns a socket pair of the baseline.
@safe private final class BaselineLink {
    private let link: OpaquePointer

    init() throws {
        // A header is as long as this package's.
        guard let link = unsafe baseline_link_create(107, FrameMessage.benchmarkBytes) else { throw BenchmarkFailure() }
        unsafe self.link = unsafe link
    }

    deinit {
        unsafe baseline_link_destroy(link)
    }

    /// Sends frames from a thread to this one, and returns the age of each if they are paced.
    func run(frames: Int, interval: UInt64) throws -> [Int64] {
        var latencies = [Int64](repeating: 0, count: interval > 0 ? frames : 0)
        let status = unsafe latencies.withUnsafeMutableBufferPointer { buffer in
            unsafe baseline_link_run(link, Int32(frames), Int64(interval), interval > 0 ? buffer.baseAddress : nil)
        }
        guard status == 0 else { throw BenchmarkFailure() }
        return latencies
    }
}

/// Both ends of a connection in this process, on a thread each, like those of the baseline.
private final class Link: Sendable {
    private let client: SocketConnection
    private let connection: FrameConnection
    private let server: FrameServer
    private let message = FrameMessage.benchmark

    init() async throws {
        server = try FrameServer(at: SocketPath.next())
        client = try await .open(to: server.path)
        connection = try await server.nextConnection()
    }

    /// Sends frames while another task receives them, and returns the age of each on arrival.
    ///
    /// If paced, a thread sends that does nothing else, like a camera's.
    func run(frames: Int, interval: UInt64, isOnOwnThread: Bool) async throws -> [Int64] {
        let receiving = Task(preferring: isOnOwnThread ? connection.thread : nil) { [connection] in
            try await connection.receive(frames)
        }
        if interval == 0 {
            let sending = Task(preferring: client.thread) { [client, message] in
                for _ in 0..<frames { try await client.send(message) }
            }
            try await sending.value
        } else {
            let isOut = DispatchSemaphore(value: 0)
            await pace(frames, interval: interval) { [client, message] _ in
                var message = message
                message.timestamp = MonotonicClock.now()
                // If it is not accepted, the receiver is told, which would otherwise wait for it.
                do { try client.submit(message) { _ in isOut.signal() } } catch { return client.close() }
                // Like a plain call, blocks until everything is sent, which is immediate unless the machine lags behind.
                isOut.wait()
            }
        }
        return try await receiving.value
    }
}
