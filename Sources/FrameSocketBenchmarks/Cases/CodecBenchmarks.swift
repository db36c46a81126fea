import CBaseline
import Dispatch
import FrameSocket
import Synchronization

/// Encoding and decoding of image sequences, against direct calls of libturbojpeg for each whole image.
enum CodecBenchmarks {
    static func all(_ options: Options) -> [Benchmark] {
        let contents: [ImageSequence.Content] = [.still, .typing, .scroll, .motion]
        return contents.map { encoding("encode/\($0)", $0, .strips(maximumThreads: nil), options) }
            + contents.map { decoding("decode/\($0)", $0, .strips(maximumThreads: nil), options) }
            + [ImageSequence.Content.still, .typing].map { damaged("strips/damage \($0)", $0, options) }
            + wholes.map { encoding("encode a whole screen/\($0.name)", .still, $0.means, isWhole: true, options) }
            + wholes.map { decoding("decode a whole screen/\($0.name)", .still, $0.means, isWhole: true, options) }
            + [decoding(manyThreads.name, .still, manyThreads.means, isWhole: true, options)]
            + pairs("whole screens", .still, isWhole: true, options) + pairs("motion", .motion, isWhole: false, options)
    }

    /// How images are coded.
    enum Means {
        /// Each with one call of the library.
        case call
        /// In strips, on this many threads; nil for one per core.
        case strips(maximumThreads: Int?)
    }

    private static let wholes: [(name: String, means: Means)] = [
        ("one call", .call), ("strips, one thread", .strips(maximumThreads: 1)),
        ("strips, all cores", .strips(maximumThreads: nil)),
    ]

    /// What decoding costs with many cores: CPU time, on any machine.
    private static let manyThreads = (
        name: "decode a whole screen/strips, 64 threads", means: Means.strips(maximumThreads: 64)
    )

    private static let metrics: [Metric] = [.time, .cpu, .allocations, .copied]

    private static func encoding(
        _ name: String,
        _ content: ImageSequence.Content,
        _ means: Means,
        isWhole: Bool = false,
        _ options: Options
    ) -> Benchmark {
        let frames = options.amount(20, 60)
        return Benchmark(name: name, metrics: metrics) {
            let images = try ImageSequence(content, fixtures: options.fixtures)
            let codec = BaselineCodec(for: images)
            let encoder = SequenceEncoder(means, isWhole: isWhole)
            return Benchmark.Comparison(
                baseline: {
                    try measureSynchronously(frames) {
                        for index in 0..<frames { try codec.encode(images[index]) }
                    }
                },
                ours: {
                    try measureSynchronously(frames) {
                        for index in 0..<frames { _ = try encoder.encode(images[index]) }
                    }
                }
            )
        }
    }

    /// Encoding in strips with the damage of each image.
    private static func damaged(_ name: String, _ content: ImageSequence.Content, _ options: Options) -> Benchmark {
        let frames = options.amount(20, 60)
        return Benchmark(name: name, metrics: metrics) {
            let images = try ImageSequence(content, fixtures: options.fixtures)
            let codec = BaselineCodec(for: images)
            let encoder = SequenceEncoder(.strips(maximumThreads: nil), isWhole: false)
            let damages = try images.damages()
            // The damage of each image is that since the one before, from one run to the next.
            let number = Mutex<UInt64>(0)
            return Benchmark.Comparison(
                baseline: {
                    try measureSynchronously(frames) {
                        for index in 0..<frames { try codec.encode(images[index]) }
                    }
                },
                ours: {
                    try measureSynchronously(frames) {
                        for _ in 0..<frames {
                            let next = number.withLock { number in
                                defer { number += 1 }
                                return number
                            }
                            let index = Int(next) % images.count
                            let rows = ImageDamage(damages[index], of: images.size).rows
                            let damage = RowDamage(image: next + 1, base: next, rows: rows)
                            _ = try encoder.encode(images[index], damage: damage)
                        }
                    }
                }
            )
        }
    }

    private static func decoding(
        _ name: String,
        _ content: ImageSequence.Content,
        _ means: Means,
        isWhole: Bool = false,
        _ options: Options
    ) -> Benchmark {
        let frames = options.amount(20, 60)
        return Benchmark(name: name, metrics: metrics) {
            let images = try ImageSequence(content, fixtures: options.fixtures)
            let codec = BaselineCodec(for: images)
            let decoder = SequenceDecoder(means, isWhole: isWhole)
            let whole = try (0..<images.count).map { try JPEGEncoder().encode(images[$0]) }
            let ours = try jpegs(of: images, means, isWhole: isWhole)
            return Benchmark.Comparison(
                baseline: {
                    try measureSynchronously(frames) {
                        for index in 0..<frames { try codec.decode(whole[index % whole.count]) }
                    }
                },
                ours: {
                    try measureSynchronously(frames) {
                        for index in 0..<frames {
                            let jpeg = ours[index % ours.count]
                            try decoder.decode(jpeg.span)
                        }
                    }
                }
            )
        }
    }

    /// Images in strips on two threads, against whole ones on each of two threads: what two threads cost is in both.
    private static func pairs(
        _ name: String,
        _ content: ImageSequence.Content,
        isWhole: Bool,
        _ options: Options
    ) -> [Benchmark] {
        let frames = options.amount(20, 60)
        let means = Means.strips(maximumThreads: 2)
        let encoding = Benchmark(name: "encode \(name) on two threads/strips", metrics: [.time, .cpu]) {
            let images = try ImageSequence(content, fixtures: options.fixtures)
            let codecs = (BaselineCodec(for: images), BaselineCodec(for: images))
            let encoder = SequenceEncoder(means, isWhole: isWhole)
            return Benchmark.Comparison(
                baseline: {
                    try measureSynchronously(frames) {
                        try onTwoThreads(frames, codecs) { try $0.encode(images[$1]) }
                    }
                },
                ours: {
                    try measureSynchronously(frames) {
                        for index in 0..<frames { _ = try encoder.encode(images[index]) }
                    }
                }
            )
        }
        let decoding = Benchmark(name: "decode \(name) on two threads/strips", metrics: [.time, .cpu]) {
            let images = try ImageSequence(content, fixtures: options.fixtures)
            let codecs = (BaselineCodec(for: images), BaselineCodec(for: images))
            let decoder = SequenceDecoder(means, isWhole: isWhole)
            let whole = try (0..<images.count).map { try JPEGEncoder().encode(images[$0]) }
            let ours = try jpegs(of: images, means, isWhole: isWhole)
            return Benchmark.Comparison(
                baseline: {
                    try measureSynchronously(frames) {
                        try onTwoThreads(frames, codecs) { try $0.decode(whole[$1 % whole.count]) }
                    }
                },
                ours: {
                    try measureSynchronously(frames) {
                        for index in 0..<frames {
                            let jpeg = ours[index % ours.count]
                            try decoder.decode(jpeg.span)
                        }
                    }
                }
            )
        }
        return [encoding, decoding]
    }

    /// Does something for each of `count` numbers, every other one on each of two threads.
    private static func onTwoThreads(
        _ count: Int,
        _ codecs: (BaselineCodec, BaselineCodec),
        _ body: @Sendable (BaselineCodec, Int) throws -> Void
    ) throws {
        let failures = Mutex(0)
        DispatchQueue.concurrentPerform(iterations: 2) { thread in
            let codec = thread == 0 ? codecs.0 : codecs.1
            for index in stride(from: thread, to: count, by: 2) {
                do { try body(codec, index) } catch { failures.withLock { $0 += 1 } }
            }
        }
        guard failures.withLock({ $0 }) == 0 else { throw BaselineFailure() }
    }

    /// The JPEGs as made by a sender that has already seen the sequence.
    private static func jpegs(
        of images: ImageSequence,
        _ means: Means,
        isWhole: Bool
    ) throws -> [FrameBytes] {
        let encoder = SequenceEncoder(means, isWhole: isWhole)
        for index in 0..<max(8, images.count) { _ = try encoder.encode(images[index]) }
        return try (0..<images.count).map { try encoder.encode(images[$0]) }
    }
}

/// Encodes one image after another, in memory that is reused.
private struct SequenceEncoder {
    private let encoder = JPEGEncoder()
    private let strips: StripEncoder?
    /// Whether each image is treated as the first one.
    private let isWhole: Bool
    private let pool = FrameBytes.Pool(maximumIdleBytes: 1 << 30)

    init(_ means: CodecBenchmarks.Means, isWhole: Bool) {
        switch means {
        case .call: strips = nil
        case .strips(let maximumThreads): strips = StripEncoder(maximumThreads: maximumThreads)
        }
        self.isWhole = isWhole
    }

    func encode(_ image: PixelBuffer, damage: RowDamage? = nil) throws -> FrameBytes {
        if isWhole { strips?.forget() }
        let capacity = try encoder.maximumByteCount(width: image.width, height: image.height)
        return try FrameBytes(capacity: capacity, pool: pool) { output throws(TurboJPEGError) in
            guard let strips else { return try encoder.encode(image, into: &output) }
            try strips.encode(image, with: encoder, damage: damage, into: &output)
        }
    }
}

/// Decodes one JPEG after another, into memory that is reused.
private struct SequenceDecoder {
    private let decoder: JPEGDecoder
    private let strips: StripDecoder?
    /// Whether each image is treated as the first one.
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
