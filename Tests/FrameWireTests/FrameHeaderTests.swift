import FrameWire
import TestDescriptions
import TestSupport
import Testing

@Suite("Frame headers: encoding and decoding", .tags(.computes))
struct FrameHeaderTests {
    private static let size = BufferSize(width: 562, height: 1_218)

    /// Shows P17.
    @Test func `a header is written as existing Jitsi senders write it, our fields after theirs`() {
        let deployed =
            "HTTP/1.1 200 OK\r\nContent-Length: 54321\r\nBuffer-Width: 562\r\nBuffer-Height: 1218\r\nBuffer-Orientation: 1\r\n"
        let plain = FrameHeader(contentLength: 54_321, info: FrameInfo(bufferSize: Self.size))
        #expect(String(decoding: plain.encoded(), as: UTF8.self) == deployed + "\r\n")
        let timed = FrameHeader(
            contentLength: 54_321,
            info: FrameInfo(bufferSize: Self.size, timestamp: 1_700_000_000, sequence: 0)
        )
        let ours = "Buffer-Presentation-Time: 1700000000\r\nBuffer-Sequence: 0\r\n"
        #expect(String(decoding: timed.encoded(), as: UTF8.self) == deployed + ours + "\r\n")
    }

    @Test(arguments: [UInt64(42)])
    func `a header is read as it was written`(seed: UInt64) throws {
        var random = SplitMix(seed: seed)
        var headers: [FrameHeader] = []
        var stream: [UInt8] = []
        for _ in 0..<500 {
            let width = Int.random(in: 1...16_384, using: &random)
            let header = FrameHeader(
                contentLength: Int.random(in: 0...(1 << Int.random(in: 0...25, using: &random)), using: &random),
                info: FrameInfo(
                    bufferSize: BufferSize(
                        width: width,
                        height: Int.random(in: 1...min(16_384, (1 << 25) / width), using: &random)
                    ),
                    orientation: FrameOrientation.allCases.randomElement(using: &random) ?? .up,
                    timestamp: Bool.random(using: &random)
                        ? random.next() >> UInt64.random(in: 0..<64, using: &random) : nil,
                    sequence: Bool.random(using: &random)
                        ? random.next() >> UInt64.random(in: 0..<64, using: &random) : nil
                )
            )
            headers.append(header)
            let bytes = header.encoded()
            #expect(bytes.count == header.encodedByteCount)
            stream += bytes
        }
        var decoder = FrameMessageDecoder()
        var decoded: [FrameHeader] = []
        var index = 0
        while index < stream.count {
            let step = try decoder.decode(stream.span.extracting(index...))
            guard case .message(.frame(let header)) = step.event else { break }
            decoded.append(header)
            index += step.consumed
            // The bodies are left out of the stream.
            _ = decoder.consumeBody(.max)
        }
        #expect(decoded == headers, "seed \(seed)")
    }

    @Test func `the longest header has as many bytes as the type says`() {
        let header = FrameHeader(
            contentLength: .max,
            info: FrameInfo(
                bufferSize: BufferSize(width: .max, height: .max),
                orientation: .left,
                timestamp: .max,
                sequence: .max
            )
        )
        #expect(header.encoded().count == FrameHeader.maximumEncodedByteCount)
        #expect(String(decoding: header.encoded(), as: UTF8.self).contains("Buffer-Sequence: 18446744073709551615\r\n"))
    }

    @Test func `negative numbers are written as 0`() {
        let header = FrameHeader(contentLength: .min, info: FrameInfo(bufferSize: BufferSize(width: -1, height: -562)))
        let zero = FrameHeader(contentLength: 0, info: FrameInfo(bufferSize: BufferSize(width: 0, height: 0)))
        #expect(header.encoded() == zero.encoded())
    }

    @Test(arguments: [-1, 0, 1, 300])
    func `a header is appended if there is room for all of it`(beyond: Int) {
        let header = FrameHeader(contentLength: 10_240, info: FrameInfo(bufferSize: Self.size, sequence: 99))
        var isWritten = false
        let bytes = [UInt8](capacity: 3 + header.encodedByteCount + beyond) { output in
            for byte in [1, 2, 3] as [UInt8] { output.append(byte) }
            // A capacity is a lower bound: what the array has beyond it must not count here.
            while output.freeCapacity > header.encodedByteCount + beyond { output.append(0) }
            isWritten = header.encode(into: &output)
        }
        #expect(isWritten == (beyond >= 0))
        #expect(bytes.prefix(3) == [1, 2, 3])
        #expect(bytes.suffix(header.encodedByteCount).elementsEqual(header.encoded()) == (beyond >= 0))
    }
}
