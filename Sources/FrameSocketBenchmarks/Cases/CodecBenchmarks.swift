import CBaseline
import FrameSocket

/// Encoding and decoding of sequences of pictures, against libturbojpeg called plainly for each whole picture.
enum CodecBenchmarks {
    static func all(_ options: Options) -> [Benchmark] {
        let contents: [PictureSequence.Content] = [.still, .typing, .scroll, .motion]
        return contents.map { encoding("encode/\($0)", $0, .strips(maximumThreads: nil), options) }
            + contents.map { decoding("decode/\($0)", $0, .strips(maximumThreads: nil), options) }
            + wholes.map { encoding("encode a whole screen/\($0.name)", .still, $0.means, isWhole: true, options) }
            + wholes.map { decoding("decode a whole screen/\($0.name)", .still, $0.means, isWhole: true, options) }
    }

    /// How pictures are coded.
    enum Means {
        /// Each by one call of the library.
        case call
        /// In strips, on so many threads; nil for one on each core.
        case strips(maximumThreads: Int?)
    }

    private static let wholes: [(name: String, means: Means)] = [
        ("one call", .call), ("strips, one thread", .strips(maximumThreads: 1)),
        ("strips, all cores", .strips(maximumThreads: nil)),
    ]

    private static let metrics: [Metric] = [.time, .cpu, .allocations, .copied]

    private static func encoding(
        _ name: String,
        _ content: PictureSequence.Content,
        _ means: Means,
        isWhole: Bool = false,
        _ options: Options
    ) -> Benchmark {
        let frames = options.amount(20, 60)
        return Benchmark(name: name, metrics: metrics) {
            let pictures = try PictureSequence(content, fixtures: options.fixtures)
            let codec = BaselineCodec(for: pictures)
            let encoder = SequenceEncoder(means, isWhole: isWhole)
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

    private static func decoding(
        _ name: String,
        _ content: PictureSequence.Content,
        _ means: Means,
        isWhole: Bool = false,
        _ options: Options
    ) -> Benchmark {
        let frames = options.amount(20, 60)
        return Benchmark(name: name, metrics: metrics) {
            let pictures = try PictureSequence(content, fixtures: options.fixtures)
            let codec = BaselineCodec(for: pictures)
            let decoder = SequenceDecoder(means, isWhole: isWhole)
            let whole = try (0..<pictures.count).map { try JPEGEncoder().encode(pictures[$0]) }
            let ours = try jpegs(of: pictures, means, isWhole: isWhole)
            return Benchmark.Comparison(
                baseline: {
                    try measureSynchronously(frames) {
                        for index in 0..<frames { try codec.decode(whole[index % whole.count]) }
                    }
                },
                ours: {
                    try measureSynchronously(frames) {
                        for index in 0..<frames { try ours[index % ours.count].withBytes { try decoder.decode($0) } }
                    }
                }
            )
        }
    }

    /// The JPEGs as a sender makes them that has seen the sequence before.
    private static func jpegs(
        of pictures: PictureSequence,
        _ means: Means,
        isWhole: Bool
    ) throws -> [FrameBytes] {
        let encoder = SequenceEncoder(means, isWhole: isWhole)
        for index in 0..<max(8, pictures.count) { _ = try encoder.encode(pictures[index]) }
        return try (0..<pictures.count).map { try encoder.encode(pictures[$0]) }
    }
}

/// Encodes one picture after the other, in memory that is used again.
private struct SequenceEncoder {
    private let encoder = JPEGEncoder()
    private let strips: StripEncoder?
    /// Whether each picture is the first one.
    private let isWhole: Bool
    private let pool = BytePool(maximumIdleBytes: 1 << 30)

    init(_ means: CodecBenchmarks.Means, isWhole: Bool) {
        switch means {
        case .call: strips = nil
        case .strips(let maximumThreads): strips = StripEncoder(maximumThreads: maximumThreads)
        }
        self.isWhole = isWhole
    }

    func encode(_ picture: PixelBuffer) throws -> FrameBytes {
        if isWhole { strips?.forget() }
        let capacity = try encoder.maximumByteCount(width: picture.width, height: picture.height)
        return try FrameBytes(capacity: capacity, pool: pool) { output throws(TurboJPEGError) in
            guard let strips else { return try encoder.encode(picture, into: &output) }
            try strips.encode(picture, with: encoder, into: &output)
        }
    }
}

/// Decodes one JPEG after the other, to memory that is used again.
private struct SequenceDecoder {
    private let decoder: JPEGDecoder
    private let strips: StripDecoder?
    /// Whether each picture is the first one.
    private let isWhole: Bool

    init(_ means: CodecBenchmarks.Means, isWhole: Bool) {
        decoder = JPEGDecoder()
        switch means {
        case .call: strips = nil
        case .strips(let maximumThreads): strips = StripDecoder(decoder: decoder, maximumThreads: maximumThreads)
        }
        self.isWhole = isWhole
    }

    func decode(_ jpeg: Span<UInt8>) throws {
        guard let strips else {
            _ = try decoder.decode(jpeg, as: .bgra)
            return
        }
        if isWhole { strips.forget() }
        _ = try strips.decode(jpeg, as: .bgra)
    }
}
