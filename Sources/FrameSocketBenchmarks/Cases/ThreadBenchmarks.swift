import FrameSocket

/// Pixels to pixels between two threads of one process, against compress, write, read and
/// decompress in C.
enum ThreadBenchmarks {
    private static let sizes = [
        BufferSize(width: 1280, height: 720), BufferSize(width: 1920, height: 1080),
        BufferSize(width: 3840, height: 2160),
    ]

    static func all(_ options: Options) -> [Benchmark] {
        let contents: [(name: String, ImageSequence.Content)] = [("screen", .typing), ("photo", .motion)]
        return sizes.flatMap { size in
            contents.map { name, content in
                let frames = options.amount(20, 60)
                return Benchmark(
                    name: "threads/\(name) \(size.width)x\(size.height)",
                    metrics: [.time, .cpu, .switches, .allocations, .copied]
                ) {
                    let images = try ImageSequence(content, size, fixtures: options.fixtures)
                    let (sender, receiver) = (BaselineCodec(for: images), BaselineCodec(for: images))
                    let ends = try await Ends()
                    return Benchmark.Comparison(
                        baseline: {
                            try measureSynchronously(frames) {
                                try sender.send(images, frames: frames, to: receiver)
                            }
                        },
                        ours: { try await measure(frames) { try await ends.run(images, frames: frames) } }
                    )
                }
            }
        }
    }

    /// An uploader, and a decoder on its connection's own thread.
    private struct Ends {
        private let link: Link
        private let uploader: SampleUploader
        private let decoder = FrameDecoder()

        init() async throws {
            link = try await Link()
            uploader = SampleUploader(connection: link.client)
        }

        func run(_ images: ImageSequence, frames: Int) async throws {
            let receiving = Task(preferring: link.connection.thread) { [link, decoder] in
                try await link.connection.receive(frames) { _ = try decoder.decode($0, as: .bgra) }
            }
            try await uploader.send(images, frames: frames)
            _ = try await receiving.value
        }
    }
}

extension SampleUploader {
    /// Sends images, each once the previous one is sent, so that none is dropped.
    func send(_ images: ImageSequence, frames: Int) async throws {
        for index in 0..<frames {
            guard send(images[index]) == .taken else { throw BaselineFailure() }
            try await finish()
        }
    }
}
