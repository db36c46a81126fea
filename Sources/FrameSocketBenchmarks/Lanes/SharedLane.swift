import CBaseline
import FrameSocket
import Locking

/// The receiving end of this package's lane: a server that accepts shared memory.
final class SharedLane: LaneReceiver {
    static let name = "shared"

    private let scenario: LaneScenario
    private let server: FrameServer
    private let decoder = FrameDecoder()
    private let connection = Locked<FrameConnection?>(nil)

    init(_ scenario: LaneScenario) throws {
        self.scenario = scenario
        var configuration = FrameServer.Configuration()
        configuration.acceptsSharedMemory = true
        configuration.thread = IOThread()
        server = try FrameServer(at: SocketPath.next(), configuration: configuration)
    }

    var path: String { server.path }

    var senderSocket: Int32? { nil }

    func connect() async throws {
        let accepted = try await server.nextConnection()
        connection.withLock { $0 = accepted }
    }

    func receive(_ frames: Int) async throws -> [Int64] {
        guard let connection = connection.withLock({ $0 }) else { throw BaselineFailure() }
        // On the connection's thread, as the plain lane reads and handles frames on one.
        return try await Task(preferring: connection.thread) { [scenario, decoder] in
            var latencies: [Int64] = []
            latencies.reserveCapacity(frames)
            var iterator = connection.frames.makeAsyncIterator()
            while latencies.count < frames, let frame = try await iterator.next() {
                guard frame.shared != nil, let sequence = frame.sequence, let submitted = frame.timestamp else {
                    throw BaselineFailure()
                }
                try decoder.decode(frame, as: scenario.format.pixels).readRows(for: scenario, number: sequence + 1)
                latencies.append(Int64(MonotonicClock.now() - submitted))
            }
            return latencies
        }.value
    }

    /// The sending end: an uploader whose frames are drawn in its buffers, or copied.
    final class Sender: LaneSender {
        private let scenario: LaneScenario
        private let uploader: SampleUploader
        /// The frames so far, and images of the sender's own to copy from.
        private let state: Locked<(number: UInt64, images: [PixelBuffer])>

        init(_ scenario: LaneScenario, path: String) async throws {
            self.scenario = scenario
            var settings = SocketConnection.Configuration.benchmark(on: IOThread())
            settings.padsShortBodies = false
            let connection = SocketConnection(path: path, configuration: settings)
            try await connection.open(within: .seconds(5))
            uploader = SampleUploader(connection: connection, configuration: .init(sharing: .allowed()))
            let (size, format) = (scenario.format.size, scenario.format.pixels)
            let images = try (0..<2).map { _ in
                try PixelBuffer(width: size.width, height: size.height, format: format, zeroFilled: true)
            }
            state = Locked((0, images))
            // A buffer of the pool is what the first frame is drawn in.
            for _ in 0..<5000 where !uploader.isSharing { try await Task.sleep(for: .milliseconds(1)) }
        }

        func send(_ frames: Int, interval: UInt64) async throws -> Int64 {
            let start = Int64(MonotonicClock.now())
            if interval > 0 {
                await pace(frames, interval: interval) { [self] _ in
                    // A receiver that is late makes the plain lane's sender wait too; here a newer frame would replace
                    // the one that waits.
                    while uploader.statistics.inProgress > 0 {
                        baseline_sleep_until(Int64(MonotonicClock.now()) + 100_000)
                    }
                    try? submitNext()
                }
            } else {
                // On the connection's thread, as the plain lane sends and reads releases on one.
                try await Task(preferring: uploader.connection.thread) { try await self.sendAll(frames) }.value
            }
            guard await finish() else { throw BaselineFailure() }
            return start
        }

        private func sendAll(_ frames: Int) async throws {
            for _ in 0..<frames {
                guard await waitForBuffer() else { throw BaselineFailure() }
                try submitNext()
                if scenario.mode.isCopied, await !finish() { throw BaselineFailure() }
            }
        }

        // Returns its failure: Swift 6.3 crashes on a loop with errors of two types.
        @inline(never)
        private func finish() async -> Bool { (try? await uploader.finish()) != nil }

        @inline(never)
        private func waitForBuffer() async -> Bool { (try? await uploader.waitForBuffer()) != nil }

        private func submitNext() throws {
            let number = state.withLock { state in
                state.number += 1
                return state.number
            }
            switch scenario.mode {
            case .inPlace, .drawn:
                let size = scenario.format.size
                var image = try uploader.makeBuffer(
                    width: size.width,
                    height: size.height,
                    format: scenario.format.pixels
                )
                if scenario.mode == .drawn { try image.fill(UInt8(truncatingIfNeeded: number)) }
                try image.markRows(for: scenario.mode, number: number)
                uploader.send(consume image, timestamp: MonotonicClock.now())
            case .copied, .typing:
                // Only this process's copy, which nothing refers to once it has been sent.
                var image = state.withLock { $0.images.remove(at: 0) }
                try image.markRows(for: scenario.mode, number: number)
                uploader.send(image, timestamp: MonotonicClock.now())
                state.withLock { $0.images.append(image) }
            }
        }

        func close() async throws {
            uploader.connection.close()
            _ = try await uploader.connection.closed()
        }
    }
}

extension PixelBuffer {
    /// Sets every byte.
    fileprivate mutating func fill(_ value: UInt8) throws {
        for plane in 0..<planeCount {
            try withMutablePlane(plane) { bytes in
                unsafe bytes.withUnsafeMutableBytes { unsafe _ = $0.initializeMemory(as: UInt8.self, repeating: value) }
            }
        }
    }
}
