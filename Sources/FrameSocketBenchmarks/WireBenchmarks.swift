import CBaseline
import FrameSocket

/// Reading and writing a frame's head, against a plain C scan of the same bytes.
enum WireBenchmarks {
    static func all(isQuick: Bool) -> [Benchmark] {
        let count = isQuick ? 20_000 : 200_000
        let head = FrameHead(contentLength: 274_831, bufferSize: BufferSize(width: 1920, height: 1080))
        let bytes = head.encoded()
        return [
            Benchmark(
                name: "head/parse",
                repetitions: count,
                baseline: {
                    timeSynchronously {
                        for _ in 0..<count { _ = unsafe baseline_parse_head(bytes, bytes.count) }
                    }
                },
                ours: {
                    // One connection's decoder, as in use; the body is read elsewhere.
                    var decoder = FrameMessageDecoder()
                    return try timeSynchronously {
                        for _ in 0..<count {
                            guard case .head(let head) = try decoder.decode(bytes.span).event else {
                                throw BaselineFailure()
                            }
                            _ = decoder.consumeBody(head.contentLength)
                        }
                    }
                }
            )
        ]
    }
}
