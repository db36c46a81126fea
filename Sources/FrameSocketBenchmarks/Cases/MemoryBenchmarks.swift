import FrameSocket

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The peak memory of a sending process, including the image that it sends, and the memory of a connection.
enum MemoryBenchmarks {
    static let cameraRole = "camera"
    static let silentRole = "silent"

    static func all(_ options: Options) -> [Benchmark] {
        let cases = [("memory/1920x1080", 1), ("memory/3840x2160 in half the size", 2)]
        return cases.map { name, scale in
            Benchmark(name: name, metrics: [.memory], isSlow: true) {
                let images = try ImageSequence(.typing, times: scale, fixtures: options.fixtures)
                return (baseline: nil, ours: { try await peak(of: images) })
            }
        } + [
            // In a fresh process: memory available for reuse would hide what is allocated.
            Benchmark(name: "memory/silent sender, both ends", metrics: [.memory], isSlow: true) {
                (baseline: nil, ours: { [.memory: try ChildProcess([silentRole]).answer().first ?? 0] })
            }
        ]
    }

    /// The peak memory of a process that sends these images, which it gets through a pipe.
    private static func peak(of images: ImageSequence) async throws -> Sample {
        let server = try FrameServer(at: SocketPath.next())
        let sender = try ChildProcess([
            cameraRole, "\(images.width)", "\(images.height)", "\(images.count)", server.path,
        ])
        let connection = try await server.nextConnection()
        let receiving = Task { [count = images.count] in try await connection.receive(count) }
        for index in 0..<images.count { images[index].withPlane(0) { sender.write($0) } }
        _ = try await receiving.value
        return [.memory: try sender.answer().first ?? 0]
    }

    /// Sends images that it reads from its input, one after another, and answers its peak memory.
    static func serveCamera(_ words: [String]) async throws {
        guard words.count == 5, let width = Int(words[1]), let height = Int(words[2]), let frames = Int(words[3]) else {
            throw BenchmarkFailure()
        }
        let client = try await SocketConnection.open(to: words[4], on: .shared)
        // At 4K at half the size, as extensions with little memory do.
        let uploader = SampleUploader(connection: client, configuration: .init(scale: width > 1920 ? .half : .full))
        let pool = PixelBuffer.Pool(maximumIdleImages: 1)
        for _ in 0..<frames {
            uploader.giveUpImages()
            uploader.send(try readImage(width, height, pool))
            try await uploader.finish()
        }
        client.close()
        _ = try await client.closed()
        ChildProcess.answer(try processMemory("VmHWM:"))
    }

    private static func readImage(_ width: Int, _ height: Int, _ pool: PixelBuffer.Pool) throws -> PixelBuffer {
        var image = try pool.buffer(width: width, height: height, format: .bgra)
        let isRead = try image.withMutablePlane(0) { bytes in
            unsafe bytes.withUnsafeMutableBytes { bytes in
                var filled = 0
                while filled < bytes.count {
                    let rest = unsafe UnsafeMutableRawBufferPointer(rebasing: bytes[filled...])
                    let count = unsafe read(STDIN_FILENO, rest.baseAddress, rest.count)
                    guard count > 0 else { return false }
                    filled += count
                }
                return true
            }
        }
        guard isRead else { throw BenchmarkFailure() }
        return image
    }

    /// Connects many senders that send nothing, and answers the memory for each.
    static func serveSilence(_ words: [String]) async throws {
        let server = try FrameServer.forMany()
        let thread = IOThread()
        var pairs: [(SocketConnection, FrameConnection)] = []
        func connect(_ count: Int) async throws {
            for _ in 0..<count {
                pairs.append((try await .open(to: server.path, on: thread), try await server.nextConnection()))
            }
        }
        // The first ones allocate what later ones share.
        try await connect(8)
        let before = try processMemory("VmRSS:")
        try await connect(512)
        ChildProcess.answer((try processMemory("VmRSS:") - before) / 512)
        withExtendedLifetime(pairs) {}
        server.close()
        try await server.closed()
    }

    /// A line of what Linux reports of the memory of this process, in bytes.
    private static func processMemory(_ name: String) throws -> Double {
        guard let file = unsafe fopen("/proc/self/status", "r") else { throw BenchmarkFailure() }
        defer { unsafe fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = unsafe fread(&bytes, 1, bytes.count, file)
        let lines = String(decoding: bytes[..<count], as: UTF8.self).split(separator: "\n")
        let words = lines.first { $0.hasPrefix(name) }?.split(whereSeparator: { $0 == " " || $0 == "\t" })
        guard let words, words.count > 1, let kilobytes = Double(words[1]) else { throw BenchmarkFailure() }
        return kilobytes * 1024
    }
}
