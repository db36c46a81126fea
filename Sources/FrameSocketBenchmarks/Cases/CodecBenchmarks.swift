import CBaseline
import FrameSocket

/// Encoding and decoding of sequences of pictures, against libturbojpeg called plainly for each whole picture.
enum CodecBenchmarks {
    static func all(_ options: Options) -> [Benchmark] {
        let contents: [PictureSequence.Content] = [.still, .typing, .scroll, .motion]
        return contents.map { encoding($0, options) } + contents.map { decoding($0, options) }
    }

    private static let metrics: [Metric] = [.time, .cpu, .allocations, .copied]

    private static func encoding(_ content: PictureSequence.Content, _ options: Options) -> Benchmark {
        let frames = options.amount(20, 60)
        return Benchmark(name: "encode/\(content)", metrics: metrics) {
            let pictures = try PictureSequence(content, fixtures: options.fixtures)
            let codec = BaselineCodec(for: pictures)
            let encoder = SequenceEncoder()
            return Benchmark.Comparison(
                baseline: {
                    try measureSynchronously(frames) {
                        for index in 0..<frames { try codec.encode(pictures[index]) }
                    }
                },
                ours: {
                    try measureSynchronously(frames) {
                        for index in 0..<frames { _ = try encoder.encode(pictures[index]) }
                    }
                }
            )
        }
    }

    private static func decoding(_ content: PictureSequence.Content, _ options: Options) -> Benchmark {
        let frames = options.amount(20, 60)
        return Benchmark(name: "decode/\(content)", metrics: metrics) {
            let pictures = try PictureSequence(content, fixtures: options.fixtures)
            let codec = BaselineCodec(for: pictures)
            let encoder = SequenceEncoder()
            let decoder = JPEGDecoder()
            let whole = try (0..<pictures.count).map { try JPEGEncoder().encode(pictures[$0]) }
            let ours = try (0..<pictures.count).map { try encoder.encode(pictures[$0]) }
            return Benchmark.Comparison(
                baseline: {
                    try measureSynchronously(frames) {
                        for index in 0..<frames { try codec.decode(whole[index % whole.count]) }
                    }
                },
                ours: {
                    try measureSynchronously(frames) {
                        for index in 0..<frames {
                            _ = try ours[index % ours.count].withBytes { try decoder.decode($0, as: .bgra) }
                        }
                    }
                }
            )
        }
    }
}

/// Encodes one picture after the other, in memory that is used again.
private struct SequenceEncoder {
    private let encoder = JPEGEncoder()
    private let pool = BytePool(maximumIdleBytes: 1 << 30)

    func encode(_ picture: PixelBuffer) throws -> FrameBytes {
        let capacity = try encoder.maximumByteCount(width: picture.width, height: picture.height)
        return try FrameBytes(capacity: capacity, pool: pool) { output throws(TurboJPEGError) in
            try encoder.encode(picture, into: &output)
        }
    }
}
