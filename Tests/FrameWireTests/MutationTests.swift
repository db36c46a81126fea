import FrameWire
import TestDescriptions
import TestSupport
import Testing

@Suite("Streams with random faults", .tags(.computes))
struct MutationTests {
    /// Bytes that mean something in a header, so that faults get past its first byte.
    private static let telling = Array("\r\n: \t09148,-HTPCBcbXx\0\u{7F}".utf8) + [0x80, 0xFF]

    /// Shows P95.
    @Test(arguments: [UInt64(1), 2, 3, 4])
    func `two thousand streams give the same whole, halved and byte by byte`(seed: UInt64) {
        var random = SplitMix(seed: seed)
        var faults: Set<WireError.Code> = []
        for round in 0..<500 {
            let header = FrameHeader(
                contentLength: Int.random(in: 0...20, using: &random),
                info: FrameInfo(
                    bufferSize: BufferSize(width: Int.random(in: 1...20_000, using: &random), height: 1_218),
                    timestamp: random.next() >> UInt64.random(in: 0...63, using: &random),
                    sequence: round % 2 == 0 ? nil : random.next()
                )
            )
            var stream =
                Streams.good + header.encoded() + [UInt8](repeating: 7, count: header.contentLength) + Streams.good
            stream.damage(with: Self.telling, using: &random)
            let whole = stream.decodedHoweverCut("seed \(seed), round \(round)", using: &random) { stream, cuts in
                Transcript(of: stream, cutBefore: cuts)
            }
            if let error = whole.error { faults.insert(error.code) }
        }
        #expect(faults.count > 10, "the faults reach most of the decoder: \(faults)")
    }
}
