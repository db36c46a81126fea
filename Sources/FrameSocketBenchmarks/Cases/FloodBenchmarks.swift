import CBaseline
import Dispatch
import FrameSocket
import Locking

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// An innocent sender beside a peer that floods the same server: how much of its rate it keeps, and how late its frames
/// are.
///
/// The baseline is the same sender alone, with this package.
enum FloodBenchmarks {
    static func all(_ options: Options) -> [Benchmark] {
        Flood.allCases.map { flood in
            Benchmark(name: "flood/\(flood.rawValue)", metrics: [.time, .median, .tail]) {
                let frames = options.amount(500, 3000)
                let alone = try await InnocentSender(beside: nil)
                let flooded = try await InnocentSender(beside: flood)
                return Benchmark.Comparison(
                    baseline: { try await alone.run(frames) },
                    ours: { try await flooded.run(frames) }
                )
            }
        }
    }

    /// What the other peer sends repeatedly.
    enum Flood: String, CaseIterable {
        case empty = "unknown messages of 0 bytes"
        case short = "unknown messages of 1 byte"
        case status = "statuses"
        case audio = "audio nobody asked for"
        case smallFrames = "frames of 1 byte"
        case largeFrames = "frames of 8 MB"

        /// Many messages in a row.
        var bytes: [UInt8] {
            switch self {
            case .empty: repeating("Message-Type: later\r\n", body: 0)
            case .short: repeating("Message-Type: later\r\n", body: 1)
            case .status: repeating("Message-Type: status\r\nSender-State: live\r\nControl-Version: 1\r\n", body: 0)
            case .audio:
                repeating(
                    "Message-Type: audio\r\nAudio-Kind: app\r\nAudio-Sample-Rate: 44100\r\nAudio-Channels: 1\r\n",
                    body: 4096
                )
            case .smallFrames: repeating(Self.frameFields, body: 1)
            case .largeFrames: Self.message(Self.frameFields, body: 8_000_000)
            }
        }

        private static let frameFields = "Buffer-Width: 1\r\nBuffer-Height: 1\r\nBuffer-Orientation: 1\r\n"

        private func repeating(_ fields: String, body: Int) -> [UInt8] {
            let message = Self.message(fields, body: body)
            return [[UInt8]](repeating: message, count: max(1, 64_000 / message.count)).flatMap(\.self)
        }

        private static func message(_ fields: String, body: Int) -> [UInt8] {
            let header = "HTTP/1.1 200 OK\r\nContent-Length: \(body)\r\n\(fields)\r\n"
            return Array(header.utf8) + [UInt8](repeating: 0, count: body)
        }
    }
}

/// A sender of 50 kB frames to a server of its own, alone or beside a flood.
private final class InnocentSender: Sendable {
    private let server: FrameServer
    private let client: SocketConnection
    private let connection: FrameConnection
    private let flooder: Flooder?

    init(beside flood: FloodBenchmarks.Flood?) async throws {
        var configuration = FrameServer.Configuration()
        configuration.thread = IOThread()
        server = try FrameServer(at: SocketPath.next(), configuration: configuration)
        client = SocketConnection(path: server.path, configuration: .benchmark(on: IOThread()))
        try await client.open(within: .seconds(5))
        connection = try await server.nextConnection()
        guard let flood else {
            flooder = nil
            return
        }
        let flooder = try Flooder(flood, path: server.path)
        self.flooder = flooder
        let flooding = try await server.nextConnection()
        Task(preferring: flooding.thread) {
            for try await _ in flooding.frames {}
        }
    }

    /// Sends `frames` frames as fast as possible, and records the age of each on arrival.
    func run(_ frames: Int) async throws -> Sample {
        flooder?.setFlooding(true)
        defer { flooder?.setFlooding(false) }
        var latencies: [Int64] = []
        var sample = try await measure(frames) {
            let sending = Task(preferring: client.thread) { [client] in
                var message = FrameMessage(
                    jpeg: FrameBytes(copying: [UInt8](repeating: 1, count: 50_000)),
                    info: FrameInfo(bufferSize: BufferSize(width: 1920, height: 1080))
                )
                for _ in 0..<frames {
                    message.timestamp = MonotonicClock.now()
                    try await client.send(message)
                }
            }
            let receiving = Task(preferring: connection.thread) { [connection] in
                try await connection.receive(frames)
            }
            try await sending.value
            latencies = try await receiving.value
        }
        sample.add(latencies: latencies)
        return sample
    }
}

/// A thread that writes the same bytes to a server until it is stopped.
private final class Flooder: Sendable {
    private enum Order {
        case rest, flood, stop
    }

    private let order = Locked(Order.rest)

    init(_ flood: FloodBenchmarks.Flood, path: String) throws {
        let socket = unsafe baseline_connect(path)
        guard socket >= 0 else { throw BaselineFailure() }
        let bytes = flood.bytes
        DispatchQueue(label: "framesocket-bench.flood").async { [weak self] in
            while let order = self?.order.withLock({ $0 }), order != .stop {
                guard order == .flood else {
                    usleep(1000)
                    continue
                }
                // Complete messages, however the socket cuts them.
                var written = 0
                while written < bytes.count {
                    let count = unsafe bytes[written...].withUnsafeBytes {
                        unsafe send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
                    }
                    guard count > 0 else { break }
                    written += count
                }
            }
            close(socket)
        }
    }

    deinit {
        order.withLock { $0 = .stop }
    }

    func setFlooding(_ isFlooding: Bool) {
        order.withLock { $0 = isFlooding ? .flood : .rest }
    }
}
