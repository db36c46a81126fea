import CBaseline
import FrameSocket

/// Encoding and decoding of whole pictures, against plain libturbojpeg calls with handles and buffers used again.
enum CodecBenchmarks {
    static func all(_ pictures: [(name: String, pixels: PixelBuffer)], isQuick: Bool) throws -> [Benchmark] {
        try pictures.flatMap { picture in try benchmarks(picture.name, picture.pixels, count: isQuick ? 5 : 20) }
    }

    private static func benchmarks(_ name: String, _ pixels: PixelBuffer, count: Int) throws -> [Benchmark] {
        let codec = BaselineCodec(width: pixels.width, height: pixels.height)
        let encoder = JPEGEncoder()
        let decoder = JPEGDecoder()
        let pool = BytePool(maximumIdleBytes: 1 << 30)
        let jpeg = try encoder.encode(pixels)
        let capacity = try encoder.maximumByteCount(width: pixels.width, height: pixels.height)
        return [
            Benchmark(
                name: "encode/\(name)",
                repetitions: count,
                baseline: { try timeSynchronously { for _ in 0..<count { try codec.encode(pixels, quality: 80) } } },
                ours: {
                    try timeSynchronously {
                        for _ in 0..<count {
                            _ = try FrameBytes(capacity: capacity, pool: pool) { output throws(TurboJPEGError) in
                                try encoder.encode(pixels, into: &output)
                            }
                        }
                    }
                }
            ),
            Benchmark(
                name: "decode/\(name)",
                repetitions: count,
                baseline: { try timeSynchronously { for _ in 0..<count { try codec.decode(jpeg) } } },
                ours: {
                    try timeSynchronously {
                        for _ in 0..<count { _ = try decoder.decode(jpeg.span, as: .bgra) }
                    }
                }
            ),
        ]
    }
}

/// Owns the codec of the baseline.
@safe final class BaselineCodec {
    private let codec: OpaquePointer

    init(width: Int, height: Int) {
        unsafe codec = baseline_codec_create(Int32(width), Int32(height))
    }

    deinit {
        unsafe baseline_codec_destroy(codec)
    }

    func encode(_ pixels: PixelBuffer, quality: Int) throws {
        let bytesPerRow = Int32(pixels.plane(0).bytesPerRow)
        let bytes = unsafe pixels.withUnsafePlanes { planes in
            unsafe baseline_encode(codec, planes[0].base, bytesPerRow, Int32(quality))
        }
        guard bytes > 0 else { throw BaselineFailure() }
    }

    func decode(_ jpeg: [UInt8]) throws {
        guard unsafe baseline_decode(codec, jpeg, jpeg.count) == 0 else { throw BaselineFailure() }
    }
}
