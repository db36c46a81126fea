import CBaseline
import Dispatch
import FrameSocket

/// Both ends of a connection in this process, on a thread each, like those of the baseline.
final class Link: Sendable {
    let client: SocketConnection
    let connection: FrameConnection
    private let server: FrameServer

    init() async throws {
        server = try FrameServer(at: SocketPath.next())
        client = SocketConnection(path: server.path, configuration: .benchmark(on: IOThread()))
        try await client.open(within: .seconds(5))
        connection = try await server.nextConnection()
    }

    /// Sends a frame repeatedly while another task receives, and returns the age of each on arrival.
    ///
    /// If paced, a thread sends that does nothing else, like a camera's.
    func run(_ message: FrameMessage, frames: Int, interval: UInt64, isOnOwnThread: Bool) async throws -> [Int64] {
        let receiving = Task(preferring: isOnOwnThread ? connection.thread : nil) { [connection] in
            try await connection.receive(frames)
        }
        if interval == 0 {
            let sending = Task(preferring: client.thread) { [client] in
                for _ in 0..<frames { try await client.send(message) }
            }
            try await sending.value
        } else {
            let isOut = DispatchSemaphore(value: 0)
            await pace(frames, interval: interval) { [client] _ in
                var message = message
                message.timestamp = MonotonicClock.now()
                // If it is not accepted, the receiver is told, which would otherwise wait for it.
                do { try client.submit(message) { _ in isOut.signal() } } catch { return client.close() }
                // Like a plain call, blocks until everything is sent, which is immediate unless the machine lags
                // behind.
                isOut.wait()
            }
        }
        return try await receiving.value
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

extension SocketConnection.Configuration {
    /// A connection that sends a body as it is, and reports a loss at once.
    static func benchmark(on thread: IOThread) -> Self {
        var configuration = Self()
        configuration.thread = thread
        configuration.padsShortBodies = false
        configuration.reopens = false
        return configuration
    }
}

extension FrameServer {
    /// The next sender that connects.
    func nextConnection() async throws -> FrameConnection {
        var iterator = connections.makeAsyncIterator()
        guard let connection = try await iterator.next() else { throw BaselineFailure() }
        return connection
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
        throw BaselineFailure()
    }
}
