import CBaseline
import FrameSocket

/// Parsing a frame's header, against plain C that parses the same bytes carelessly, and as strictly.
enum HeaderBenchmarks {
    static func all(_ options: Options) -> [Benchmark] {
        let count = options.amount(20_000, 200_000)
        return [("careless", false), ("strict", true)].map { name, isStrict in
            Benchmark(name: "head/\(name) baseline", metrics: [.time, .cpu]) {
                let header = FrameHeader(
                    contentLength: 274_831,
                    info: FrameInfo(bufferSize: BufferSize(width: 1920, height: 1080))
                )
                let bytes = header.encoded()
                return Benchmark.Comparison(
                    baseline: {
                        try measureSynchronously(count) {
                            for _ in 0..<count {
                                let length =
                                    unsafe isStrict
                                    ? baseline_parse_head_strictly(bytes, bytes.count)
                                    : baseline_parse_head(bytes, bytes.count)
                                guard length == 274_831 else { throw BaselineFailure() }
                            }
                        }
                    },
                    ours: {
                        // One connection's decoder, as in use; the body is read elsewhere.
                        var decoder = FrameMessageDecoder()
                        let slice = bytes[...]
                        return try measureSynchronously(count) {
                            for _ in 0..<count {
                                guard case .message(.frame(let header)) = try decoder.decode(slice.span).event else {
                                    throw BaselineFailure()
                                }
                                _ = decoder.consumeBody(header.contentLength)
                            }
                        }
                    }
                )
            }
        }
    }
}
