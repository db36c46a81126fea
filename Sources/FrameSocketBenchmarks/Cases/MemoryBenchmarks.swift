import FrameSocket

/// The peak memory of a sending process, including the image that it sends.
enum MemoryBenchmarks {
    static func all(_ options: Options) -> [Benchmark] {
        let cases: [(name: String, size: BufferSize)] = [
            ("1920x1080", BufferSize(width: 1920, height: 1080)),
            ("3840x2160 in half the size", BufferSize(width: 3840, height: 2160)),
        ]
        let encoded = cases.map { name, size in
            Benchmark(name: "memory/\(name)", metrics: [.memory], isSlow: true) {
                let images = try ImageSequence(.typing, size, fixtures: options.fixtures)
                let frames = images.count
                return Benchmark.Comparison(ours: {
                    try await peak(of: "camera", size, frames: frames, images: { images[$0] })
                })
            }
        }
        return encoded + shared
    }

    /// Images that are read into three buffers in shared memory; they count as the sender's.
    private static var shared: [Benchmark] {
        // Sealed memory files are Linux's.
        #if os(Linux)
            [
                Benchmark(name: "memory/1920x1080 NV12 in shared memory", metrics: [.memory], isSlow: true) {
                    let size = BufferSize(width: 1920, height: 1080)
                    let image = try PixelBuffer(width: size.width, height: size.height, format: .nv12, zeroFilled: true)
                    return Benchmark.Comparison(ours: {
                        try await peak(of: "shared-camera", size, frames: 60, images: { _ in image })
                    })
                }
            ]
        #else
            []
        #endif
    }

    /// The peak memory of a process that sends these images, which it gets through a pipe.
    private static func peak(
        of role: String,
        _ size: BufferSize,
        frames: Int,
        images: (Int) -> PixelBuffer
    ) async throws -> Sample {
        var configuration = FrameServer.Configuration()
        configuration.acceptsSharedMemory = true
        let server = try FrameServer(at: SocketPath.next(), configuration: configuration)
        let sender = try ChildProcess([role, size.text, "\(frames)", server.path])
        let connection = try await server.nextConnection()
        let receiving = Task { try await connection.receive(frames) }
        for index in 0..<frames {
            let image = images(index)
            for plane in 0..<image.planeCount { image.withPlane(plane) { sender.write($0) } }
        }
        _ = try await receiving.value
        guard let peak = try sender.answer().first else { throw BaselineFailure() }
        return Sample([.memory: peak])
    }
}
