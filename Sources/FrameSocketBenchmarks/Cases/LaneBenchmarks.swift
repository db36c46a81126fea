import CBaseline
import FrameSocket
import Locking

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Images in shared memory from one process to another, 60 a second, each copied and changed in every row: the same in plain
/// C between the same two processes.
///
/// The receiver reads the start of each row. A frame is submitted before it is copied; its latency ends when its rows have
/// been read.
enum LaneBenchmarks {
    static let role = "lane"

    private static let (width, height) = (1920, 1080)
    private static let interval: UInt64 = 1_000_000_000 / 60

    static func all(_ options: Options) -> [Benchmark] {
        // Both sides share memory as only Linux can.
        #if os(Linux)
            let frames = options.amount(30, 120)
            let metrics: [Metric] = [.median, .tail, .cpu, .senderCPU, .receiverCPU]
            return [
                Benchmark(name: "lane/copied, 60 a second", metrics: metrics, isSlow: true) {
                    let ends = try await Ends()
                    return (
                        baseline: { try await ends.run("baseline", frames) { try ends.receiveBaseline(frames) } },
                        ours: { try await ends.run("ours", frames) { try await ends.receive(frames) } }
                    )
                }
            ]
        #else
            return []
        #endif
    }

    /// Sends frames on each command, with this package or with plain C, and answers what processor time it took.
    static func serve(_ words: [String]) async throws {
        #if os(Linux)
            guard words.count == 2 else { throw BenchmarkFailure() }
            let first = ChildProcess.firstDescriptor
            let baseline = try PlainLane(sends: true, socket: first, memory: first + 1)
            let client = try await SocketConnection.open(to: words[1])
            let uploader = SampleUploader(connection: client, configuration: .init(sharesMemory: true))
            // The images of the sender's own, drawn into in turns, and the number of frames so far.
            let images = try (0..<2).map { _ in
                try PixelBuffer(width: width, height: height, format: .bgra, zeroFilled: true)
            }
            let state = Locked((images: images, number: UInt64(0)))
            while let words = readLine()?.split(separator: " "), words.count == 2, let frames = Int(words[1]) {
                let sample = try await measure(frames) {
                    if words[0] == "baseline" {
                        try baseline.send(frames, interval: interval)
                    } else {
                        try await uploader.submit(frames, interval: interval) { _ in
                            // The only reference, so that drawing copies nothing.
                            var (image, number) = state.withLock { ($0.images.removeFirst(), $0.number + 1) }
                            try? image.withMutablePlane(0) { bytes in
                                unsafe bytes.withUnsafeMutableBufferPointer {
                                    unsafe baseline_lane_mark($0.baseAddress, Int32(width * 4), Int32(height), number)
                                }
                            }
                            uploader.send(image, timestamp: MonotonicClock.now())
                            state.withLock { state in
                                state.images.append(image)
                                state.number = number
                            }
                        }
                    }
                }
                ChildProcess.answer(sample[.cpu] ?? 0)
            }
            client.close()
            _ = try await client.closed()
        #endif
    }

    #if os(Linux)
        /// Owns one end of the lane in plain C.
        ///
        /// - Note: `@unchecked Sendable` holds because one run follows another.
        @safe private final class PlainLane: @unchecked Sendable {
            private let lane: OpaquePointer

            init(sends: Bool, socket: Int32, memory: Int32) throws {
                let (bytesPerRow, rows) = (Int32(width * 4), Int32(height))
                let lane =
                    unsafe sends
                    ? baseline_lane_create_sender(socket, memory, bytesPerRow, rows)
                    : baseline_lane_create_receiver(socket, memory, bytesPerRow, rows)
                guard let lane = unsafe lane else { throw BenchmarkFailure() }
                unsafe self.lane = unsafe lane
            }

            deinit {
                unsafe baseline_lane_destroy(lane)
            }

            func send(_ frames: Int, interval: UInt64) throws {
                guard unsafe baseline_lane_send(lane, Int32(frames), Int64(interval)) == 0 else {
                    throw BenchmarkFailure()
                }
            }

            /// Receives frames, and returns the age of each.
            func receive(_ frames: Int) throws -> [Int64] {
                var latencies = [Int64](repeating: 0, count: frames)
                guard unsafe baseline_lane_receive(lane, Int32(frames), &latencies) == 0 else {
                    throw BenchmarkFailure()
                }
                return latencies
            }
        }

        /// The receiving process, this one, with both lanes to the sending one.
        private final class Ends: Sendable {
            private let socket: Int32
            private let baseline: PlainLane
            private let server: FrameServer
            private let connection: FrameConnection
            private let sender: ChildProcess
            private let decoder = FrameDecoder()

            init() async throws {
                var sockets: [Int32] = [-1, -1]
                let memory = baseline_lane_make_memory(Int32(width * 4), Int32(height))
                guard memory >= 0, unsafe baseline_make_pair(&sockets, 1024) == 0 else { throw BenchmarkFailure() }
                defer { for descriptor in [memory, sockets[0]] { close(descriptor) } }
                socket = sockets[1]
                baseline = try PlainLane(sends: false, socket: sockets[1], memory: memory)
                var configuration = FrameServer.Configuration()
                configuration.acceptsSharedMemory = true
                configuration.thread = IOThread()
                server = try FrameServer(at: SocketPath.next(), configuration: configuration)
                sender = try ChildProcess([LaneBenchmarks.role, server.path], giving: [sockets[0], memory])
                connection = try await server.nextConnection()
            }

            deinit {
                close(socket)
            }

            /// Makes the other process send, and returns what `receive` and sending took.
            func run(_ side: String, _ frames: Int, receive: () async throws -> [Int64]) async throws -> Sample {
                var latencies: [Int64] = []
                var sample = try await measure(frames) {
                    sender.write("\(side) \(frames)")
                    latencies = try await receive()
                }
                let receiverCPU = sample[.cpu] ?? 0
                let senderCPU = try sender.answer().first ?? 0
                (sample[.receiverCPU], sample[.senderCPU]) = (receiverCPU, senderCPU)
                sample[.cpu] = receiverCPU + senderCPU
                sample.add(latencies: latencies)
                return sample
            }

            func receiveBaseline(_ frames: Int) throws -> [Int64] { try baseline.receive(frames) }

            /// Receives frames of this package, on the connection's thread, as plain C reads and handles frames on one.
            func receive(_ frames: Int) async throws -> [Int64] {
                try await Task(preferring: connection.thread) { [connection, decoder] in
                    try await connection.receive(frames) { frame in
                        guard frame.shared != nil, let sequence = frame.sequence else { throw BenchmarkFailure() }
                        let status = try decoder.decode(frame, as: .bgra).image.withPlane(0) { bytes in
                            unsafe bytes.withUnsafeBufferPointer {
                                unsafe baseline_lane_read(
                                    $0.baseAddress,
                                    Int32(width * 4),
                                    Int32(height),
                                    sequence + 1
                                )
                            }
                        }
                        guard status == 0 else { throw BenchmarkFailure() }
                    }
                }.value
            }
        }
    #endif
}
