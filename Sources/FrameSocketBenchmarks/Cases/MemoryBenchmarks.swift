import FrameSocket

/// The peak memory of a sending process, including the image that it sends.
enum MemoryBenchmarks {
    static func all(_ options: Options) -> [Benchmark] {
        let cases: [(name: String, size: BufferSize)] = [
            ("1920x1080", BufferSize(width: 1920, height: 1080)),
            ("3840x2160 in half the size", BufferSize(width: 3840, height: 2160)),
        ]
        return cases.map { name, size in
            Benchmark(name: "memory/\(name)", metrics: [.memory], isSlow: true) {
                let pictures = try PictureSequence(.typing, size, fixtures: options.fixtures)
                let frames = pictures.count
                return Benchmark.Comparison(ours: {
                    let server = try FrameServer(at: SocketPath.next())
                    let sender = try ChildProcess(["camera", size.text, "\(frames)", server.path])
                    let connection = try await server.nextConnection()
                    let receiving = Task { try await connection.receive(frames) }
                    for index in 0..<frames { pictures[index].withPlane(0) { sender.write($0) } }
                    _ = try await receiving.value
                    guard let peak = try sender.answer().first else { throw BaselineFailure() }
                    return Sample([.memory: peak])
                })
            }
        }
    }
}
