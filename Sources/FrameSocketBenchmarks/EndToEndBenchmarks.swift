import CBaseline
import FrameSocket

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Pixels in at one end, pixels out at the other, against compress, write, read and decompress in C.
enum EndToEndBenchmarks {
    static func all(_ pictures: [(name: String, pixels: PixelBuffer)], isQuick: Bool) -> [Benchmark] {
        let frames = isQuick ? 30 : 120
        return pictures.map { picture in
            Benchmark(
                name: "end to end/\(picture.name)",
                repetitions: frames,
                baseline: { try baselineTime(baseline(picture.pixels, frames)) },
                ours: { try await run(picture.pixels, frames) }
            )
        }
    }

    private static func baseline(_ pixels: PixelBuffer, _ frames: Int) -> Int64 {
        let bytesPerRow = Int32(pixels.plane(0).bytesPerRow)
        return unsafe pixels.withUnsafePlanes { planes in
            unsafe baseline_end_to_end(
                Int32(frames),
                planes[0].base,
                Int32(pixels.width),
                Int32(pixels.height),
                bytesPerRow,
                80
            )
        }
    }

    private static func run(_ pixels: PixelBuffer, _ frames: Int) async throws -> UInt64 {
        let path = "/tmp/framesocket-bench-\(getpid())"
        let server = try FrameServer(at: path)
        var settings = SocketConnection.Configuration()
        settings.thread = IOThread()
        let client = SocketConnection(path: path, configuration: settings)
        try await client.open(within: .seconds(5))
        let uploader = SampleUploader(connection: client)
        var connections = server.connections.makeAsyncIterator()
        guard let connection = try await connections.next() else { throw BaselineFailure() }
        let took = try await time {
            let receiving = Task(executorPreference: connection.thread) {
                let decoder = FrameDecoder()
                var count = 0
                for try await frame in connection.frames {
                    _ = try decoder.decode(frame, as: .bgra)
                    count += 1
                    if count == frames { break }
                }
            }
            for _ in 0..<frames {
                uploader.send(pixels)
                await uploader.finish()
            }
            try await receiving.value
        }
        client.close()
        server.close()
        await server.closed()
        return took
    }
}
