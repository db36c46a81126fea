import CBaseline
import Dispatch
import FrameSocket
import Locking

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Paths for the sockets of this process, one for each case.
enum SocketPath {
    private static let last = Locked(0)

    static func next() -> String {
        let number = last.withLock { last in
            last += 1
            return last
        }
        return path(number)
    }

    /// Removes what is left at the end: a server that is released closes on its own thread, which ends with the process.
    static func removeAll() {
        let count = last.withLock { $0 }
        for number in 0..<count {
            for name in [path(number + 1), path(number + 1) + ".lock"] { _ = unsafe unlink(name) }
        }
    }

    private static func path(_ number: Int) -> String {
        "/tmp/framesocket-bench-\(getpid())-\(number)"
    }
}

extension SocketConnection {
    /// Connects a sender that sends a body as it is, and reports a loss at once.
    static func open(to path: String, on thread: IOThread = IOThread()) async throws -> SocketConnection {
        var configuration = Configuration()
        configuration.thread = thread
        configuration.padsShortBodies = false
        configuration.reopens = false
        let connection = SocketConnection(path: path, configuration: configuration)
        try await connection.open(within: .seconds(5))
        return connection
    }
}

extension FrameServer {
    /// The next sender that connects.
    func nextConnection() async throws -> FrameConnection {
        var iterator = connections.makeAsyncIterator()
        guard let connection = try await iterator.next() else { throw BenchmarkFailure() }
        return connection
    }

    /// A server to which many may connect and stay silent.
    static func forMany() throws -> FrameServer {
        var configuration = Configuration()
        configuration.thread = IOThread()
        configuration.limits.maximumConnections = 1024
        configuration.limits.firstFrameTimeout = nil
        return try FrameServer(at: SocketPath.next(), configuration: configuration)
    }
}

extension FrameConnection {
    /// Receives `count` frames, and returns the age of each on arrival, 0 if its sender does not state it.
    ///
    /// A frame has arrived when `use` has finished with it.
    func receive(_ count: Int, use: (Frame) throws -> Void = { _ in }) async throws -> [Int64] {
        var latencies: [Int64] = []
        latencies.reserveCapacity(count)
        for try await frame in frames {
            try use(frame)
            latencies.append(frame.timestamp.map { Int64(MonotonicClock.now()) - Int64($0) } ?? 0)
            if latencies.count == count { return latencies }
        }
        throw BenchmarkFailure()
    }
}

extension FrameMessage {
    /// The size of the body of ``benchmark``.
    static let benchmarkBytes = 50_000

    /// A message as large as the frames of a screen are that changes a little.
    static var benchmark: FrameMessage {
        FrameMessage(
            jpeg: FrameBytes([UInt8](repeating: 1, count: benchmarkBytes)),
            info: FrameInfo(bufferSize: BufferSize(width: 1920, height: 1080))
        )
    }
}

/// Calls `body` every `interval` nanoseconds, on a thread that may wait.
func pace(_ times: Int, interval: UInt64, _ body: @escaping @Sendable (Int) -> Void) async {
    await withCheckedContinuation { continuation in
        DispatchQueue(label: "framesocket-bench.pace", qos: .userInitiated).async {
            let start = MonotonicClock.now()
            for index in 0..<times {
                baseline_sleep_until(Int64(start + UInt64(index) * interval))
                body(index)
            }
            continuation.resume()
        }
    }
}

extension SampleUploader {
    /// Submits as many frames, one every `interval` nanoseconds, and waits until the last one is sent; none is dropped.
    func submit(_ frames: Int, interval: UInt64, _ submit: @escaping @Sendable (Int) -> Void) async throws {
        await pace(frames, interval: interval) { [self] index in
            // Like a plain call: if the machine lags behind, a newer image would replace one that is waiting, for which the
            // receiver would wait forever.
            while statistics.inProgress > 0 { usleep(100) }
            submit(index)
        }
        try await finish()
    }
}
