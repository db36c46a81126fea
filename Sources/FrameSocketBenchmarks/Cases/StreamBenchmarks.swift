import CBaseline
import FrameSocket
import JPEGStreams

/// Finding the JPEGs in a stream, against a search for end markers in plain C, which follows no segments and copies nothing.
enum StreamBenchmarks {
    static func all(_ options: Options) -> [Benchmark] {
        let total = options.amount(64, 512) << 20
        return [("200 kB", 200_000), ("3 MB", 3_000_000)].map { name, byteCount in
            Benchmark(name: "stream/\(name)", metrics: [.time, .cpu]) {
                let image = jpeg(byteCount)
                let count = total / image.count
                // As a pipe delivers it.
                let stream = Array(repeatElement(image, count: max(1, (8 << 20) / image.count)).joined())
                let rounds = max(1, count * image.count / stream.count)
                let images = stream.count / image.count
                return Benchmark.Comparison(
                    baseline: {
                        try measureSynchronously(rounds * images) {
                            for _ in 0..<rounds {
                                let found = unsafe baseline_count_markers(stream, stream.count)
                                guard found == images else { throw BaselineFailure() }
                            }
                        }
                    },
                    ours: {
                        var reader = JPEGStreamReader()
                        return try measureSynchronously(rounds * images) {
                            for _ in 0..<rounds { try read(stream, images, &reader) }
                        }
                    }
                )
            }
        }
    }

    /// Reads the stream in pieces of the size of a pipe.
    private static func read(_ stream: [UInt8], _ images: Int, _ reader: inout JPEGStreamReader) throws {
        var found = 0
        for start in stride(from: 0, to: stream.count, by: 1 << 16) {
            reader.append(stream[start..<min(start + 1 << 16, stream.count)])
            while case .image? = reader.next() { found += 1 }
        }
        guard found == images else { throw BaselineFailure() }
    }

    /// A JPEG that nobody decodes: the headers of one, and coded data with as many bytes FF as random data has.
    private static func jpeg(_ byteCount: Int) -> [UInt8] {
        var bytes: [UInt8] = [0xFF, 0xD8, 0xFF, 0xC0, 0, 11, 8, 4, 56, 7, 128, 1, 1, 0x11, 0]
        bytes += [0xFF, 0xDA, 0, 8, 1, 1, 0, 0, 63, 0]
        var random = SystemRandomNumberGenerator()
        while bytes.count < byteCount {
            let byte = UInt8.random(in: 0...255, using: &random)
            bytes.append(byte)
            if byte == 0xFF { bytes.append(0) }
        }
        return bytes + [0xFF, 0xD9]
    }
}
