import CBaseline
import FrameSocket

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// What this program does as the other process of a case; see ``ChildProcess``.
enum Peer {
    /// The argument that selects it.
    static let command = "peer"

    static func run(_ words: [String]) async throws {
        switch (words.first, words.count) {
        case ("images", 5): try await sendImages(words[1], fixtures: words[2], path: words[3], size: words[4])
        case ("camera", 4): try await sendCamera(words[1], frames: words[2], path: words[3])
        case ("shared-camera", 4): try await shareCamera(words[1], frames: words[2], path: words[3])
        case ("lane", 5): try await LaneContender.runPeer(Array(words.dropFirst()))
        case ("senders", 4): try await sendFrames(from: words[1], baseline: words[2], path: words[3])
        case ("idle", 4): try await idle(words[1], words[2], seconds: words[3])
        default: throw BaselineFailure()
        }
    }

    // MARK: Images

    /// Sends a sequence on each command, with this package or with plain C, and answers when it started and what
    /// processor time it took.
    private static func sendImages(_ content: String, fixtures: String, path: String, size: String) async throws {
        guard let content = ImageSequence.Content(rawValue: content) else { throw BaselineFailure() }
        let images = try ImageSequence(content, BufferSize(size), fixtures: fixtures)
        let codec = BaselineCodec(for: images)
        let client = SocketConnection(path: path, configuration: .benchmark(on: .shared))
        try await client.open(within: .seconds(5))
        let uploader = SampleUploader(connection: client)
        while let words = readLine()?.split(separator: " "), words.count == 3 {
            guard let frames = Int(words[1]), let interval = UInt64(words[2]) else { throw BaselineFailure() }
            var start = Int64(MonotonicClock.now())
            let sample = try await measure(frames) {
                if words[0] == "baseline" {
                    let socket = ChildProcess.givenDescriptor
                    start = try codec.send(images, frames: frames, interval: interval, to: socket)
                } else if interval == 0 {
                    try await uploader.send(images, frames: frames)
                } else {
                    await pace(frames, interval: interval) {
                        // Like a plain call: if the machine lags behind, a newer image would replace one that is
                        // waiting, for which the receiver would wait forever.
                        while uploader.statistics.inProgress > 0 { usleep(200) }
                        uploader.send(images[$0])
                    }
                    try await uploader.finish()
                }
            }
            answer(Double(start), sample[.cpu] ?? 0)
        }
        client.close()
        _ = try await client.closed()
    }

    // MARK: Many senders

    /// Sends frames of 50 kB from many senders on each command, with this package or with plain C, and answers when
    /// all are sent.
    private static func sendFrames(from count: String, baseline baselinePath: String, path: String) async throws {
        guard let count = Int(count) else { throw BaselineFailure() }
        let baseline = try BaselineEnds(connecting: count, to: baselinePath)
        let thread = IOThread()
        let clients = (0..<count).map { _ in SocketConnection(path: path, configuration: .benchmark(on: thread)) }
        for client in clients { try await client.open(within: .seconds(5)) }
        let message = FrameMessage(
            jpeg: FrameBytes(copying: [UInt8](repeating: 1, count: 50_000)),
            info: FrameInfo(bufferSize: BufferSize(width: 1920, height: 1080))
        )
        while let words = readLine()?.split(separator: " "), words.count == 2 {
            guard let frames = Int(words[1]) else { throw BaselineFailure() }
            if words[0] == "baseline" {
                try baseline.send(frames)
            } else {
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for client in clients {
                        group.addTask(preferring: client.thread) {
                            for _ in 0..<frames { try await client.send(message) }
                        }
                    }
                    try await group.waitForAll()
                }
            }
            answer()
        }
    }

    // MARK: Memory

    /// Sends images that it reads from its input, one after another, and answers its peak memory.
    private static func sendCamera(_ size: String, frames: String, path: String) async throws {
        guard let size = BufferSize(size), let frames = Int(frames) else { throw BaselineFailure() }
        let client = SocketConnection(path: path, configuration: .benchmark(on: .shared))
        try await client.open(within: .seconds(5))
        // At 4K at half the size, as extensions with little memory do.
        let scale: SampleUploader.OutputScale = size.width > 1920 ? .fraction(numerator: 1, denominator: 2) : .full
        let uploader = SampleUploader(connection: client, configuration: .init(scale: scale))
        let pool = PixelBuffer.Pool(maximumIdleImages: 1)
        for _ in 0..<frames {
            uploader.giveUpImages()
            uploader.send(try readImage(size, pool))
            try await uploader.finish()
        }
        client.close()
        _ = try await client.closed()
        answer(ProcessMemory.peak ?? 0)
    }

    /// Reads images into shared memory, sends one after another, and answers its peak memory.
    private static func shareCamera(_ size: String, frames: String, path: String) async throws {
        guard let size = BufferSize(size), let frames = Int(frames) else { throw BaselineFailure() }
        let client = SocketConnection(path: path, configuration: .benchmark(on: .shared))
        try await client.open(within: .seconds(5))
        let uploader = SampleUploader(connection: client, configuration: .init(sharing: .allowed()))
        for _ in 0..<frames {
            try await uploader.waitForBuffer()
            var image = try uploader.makeBuffer(width: size.width, height: size.height, format: .nv12)
            try image.readFromInput()
            uploader.send(consume image)
        }
        try await uploader.finish()
        guard uploader.statistics.shared == frames else { throw BaselineFailure() }
        client.close()
        _ = try await client.closed()
        answer(ProcessMemory.peak ?? 0)
    }

    private static func readImage(_ size: BufferSize, _ pool: PixelBuffer.Pool) throws -> PixelBuffer {
        var image = try pool.buffer(width: size.width, height: size.height, format: .bgra)
        try image.readFromInput()
        return image
    }

    /// Connects many senders that send nothing, and answers the memory for each and the processor time of a second.
    private static func idle(_ count: String, _ kind: String, seconds: String) async throws {
        guard let count = Int(count), let seconds = Int(seconds) else { throw BaselineFailure() }
        let server = try FrameServer.forMany()
        // The first ones allocate what later ones share.
        var clients = try await server.connectClients(8)
        let before = ProcessMemory.resident ?? 0
        var connections: [FrameConnection] = []
        if kind == "both" {
            clients += try await server.connectClients(count)
        } else {
            for _ in 0..<count {
                guard unsafe baseline_connect(server.path) >= 0 else { throw BaselineFailure() }
                connections.append(try await server.nextConnection())
            }
        }
        let after = ProcessMemory.resident ?? 0
        let sample = try await measure(seconds) { try await Task.sleep(for: .seconds(seconds)) }
        withExtendedLifetime((clients, connections)) {}
        server.close()
        try await server.closed()
        answer((after - before) / Double(count), sample[.cpu] ?? 0)
    }

    /// Prints the numbers of an answer.
    static func answer(_ numbers: Double...) {
        print(numbers.map { "\($0)" }.joined(separator: " "))
        fflush(nil)
    }
}

extension BufferSize {
    /// A size as `WIDTHxHEIGHT`.
    init?(_ text: String) {
        let numbers = text.split(separator: "x").compactMap { Int($0) }
        guard numbers.count == 2 else { return nil }
        self.init(width: numbers[0], height: numbers[1])
    }

    /// The size as `WIDTHxHEIGHT`.
    var text: String { "\(width)x\(height)" }
}

extension PixelBuffer {
    /// Fills the image with what the process reads from its input.
    fileprivate mutating func readFromInput() throws {
        for plane in 0..<planeCount {
            let isRead = try withMutablePlane(plane) { bytes in
                unsafe bytes.withUnsafeMutableBufferPointer { bytes in
                    var filled = 0
                    while filled < bytes.count {
                        let rest = unsafe UnsafeMutableRawBufferPointer(
                            rebasing: UnsafeMutableRawBufferPointer(bytes)[filled...]
                        )
                        let count = unsafe read(STDIN_FILENO, rest.baseAddress, rest.count)
                        guard count > 0 else { return false }
                        filled += count
                    }
                    return true
                }
            }
            guard isRead else { throw BaselineFailure() }
        }
    }
}
