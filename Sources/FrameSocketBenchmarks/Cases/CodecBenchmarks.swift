import CBaseline
import FrameSocket

/// Encoding and decoding of image sequences, as uploaders and frame decoders do it, against direct calls of libturbojpeg
/// for each whole image.
enum CodecBenchmarks {
    /// Handles the image with a number.
    private typealias Step = (Int) throws -> Void

    static func all(_ options: Options) -> [Benchmark] {
        let contents = ImageSequence.Content.allCases
        return contents.map { benchmark("encode/\($0)", $0, options, encoding) }
            + contents.map { benchmark("decode/\($0)", $0, options, decoding) }
    }

    private static func benchmark(
        _ name: String,
        _ content: ImageSequence.Content,
        _ options: Options,
        _ prepare: @escaping (ImageSequence, BaselineCodec) throws -> (baseline: Step, ours: Step)
    ) -> Benchmark {
        let frames = options.amount(20, 60)
        func run(_ step: @escaping Step) -> Benchmark.Run {
            { try await measure(frames) { for index in 0..<frames { try step(index) } } }
        }
        return Benchmark(name: name, metrics: [.time, .cpu]) {
            let images = try ImageSequence(content, fixtures: options.fixtures)
            let (baseline, ours) = try prepare(images, BaselineCodec(for: images))
            return (baseline: run(baseline), ours: run(ours))
        }
    }

    private static func encoding(_ images: ImageSequence, _ codec: BaselineCodec) -> (baseline: Step, ours: Step) {
        let encoder = SequenceEncoder()
        return (baseline: { try codec.encode(images[$0]) }, ours: { _ = try encoder.encode(images[$0]) })
    }

    private static func decoding(_ images: ImageSequence, _ codec: BaselineCodec) throws -> (baseline: Step, ours: Step)
    {
        let whole = try (0..<images.count).map { try JPEGEncoder().encode(images[$0]) }
        // As made by a sender that has already seen the sequence.
        let encoder = SequenceEncoder()
        for index in 0..<max(8, images.count) { _ = try encoder.encode(images[index]) }
        let strips = try (0..<images.count).map { try encoder.encode(images[$0]) }
        let decoder = StripDecoder(decoder: JPEGDecoder())
        return (
            baseline: { try codec.decode(whole[$0 % whole.count]) },
            ours: { index in
                let jpeg = strips[index % strips.count]
                _ = try jpeg.withSpan { try decoder.decode($0, as: .bgra) }
            }
        )
    }
}

/// Encodes one image after another, in memory that is reused.
private struct SequenceEncoder {
    private let encoder = JPEGEncoder()
    private let strips = StripEncoder()
    private let pool = FrameBytes.Pool(maximumIdleBytes: 1 << 30)

    func encode(_ image: PixelBuffer) throws -> FrameBytes {
        let capacity = try encoder.maximumByteCount(width: image.width, height: image.height)
        return try FrameBytes(capacity: capacity, pool: pool) { output throws(TurboJPEGError) in
            _ = try strips.encode(image, with: encoder, into: &output)
        }
    }
}

/// Owns a codec of the baseline.
///
/// - Note: `@unchecked Sendable` holds because one side of one case uses it at a time.
@safe final class BaselineCodec: @unchecked Sendable {
    private let codec: OpaquePointer

    init(for images: ImageSequence) {
        unsafe codec = baseline_codec_create(Int32(images.width), Int32(images.height))
    }

    deinit {
        unsafe baseline_codec_destroy(codec)
    }

    func encode(_ image: PixelBuffer) throws {
        let bytes = unsafe image.withUnsafePlanes { unsafe baseline_encode(codec, $0[0].base) }
        guard bytes > 0 else { throw BenchmarkFailure() }
    }

    func decode(_ jpeg: [UInt8]) throws {
        guard unsafe baseline_decode(codec, jpeg, jpeg.count) == 0 else { throw BenchmarkFailure() }
    }

    /// Sends images, and returns when the first one started.
    func send(_ images: ImageSequence, frames: Int, interval: UInt64, to socket: Int32) throws -> Int64 {
        let start = unsafe baseline_send_images(
            socket,
            codec,
            images.baseline,
            Int32(images.count),
            Int32(frames),
            Int64(interval)
        )
        guard start >= 0 else { throw BenchmarkFailure() }
        return start
    }

    /// Receives images, and returns the age of each.
    func receive(frames: Int, from socket: Int32) throws -> [Int64] {
        var latencies = [Int64](repeating: 0, count: frames)
        guard unsafe baseline_receive_images(socket, codec, Int32(frames), &latencies) == 0 else {
            throw BenchmarkFailure()
        }
        return latencies
    }
}
