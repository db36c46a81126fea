import FrameWire
import TestDescriptions
import Testing

@Suite("Decoder state", .tags(.computes))
struct FrameMessageDecoderTests {
    private static let header = FrameHeader(
        contentLength: 4,
        info: FrameInfo(bufferSize: BufferSize(width: 562, height: 1_218))
    )

    @Test func `an empty span changes nothing, at whatever position of the stream`() throws {
        var decoder = FrameMessageDecoder()
        let good = Streams.good
        let nothing = FrameMessageDecoder.Step(consumed: 0, event: .incomplete)
        for count in [0, 5, 40, good.count - 4, good.count - 1, good.count] {
            let from = Int(decoder.offset)
            var index = from
            while index < count { index += try decoder.decode(good.span.extracting(index..<count)).consumed }
            let step = try decoder.decode(good.span.extracting(count..<count))
            #expect(step == nothing)
            #expect(decoder.offset == UInt64(count))
        }
    }

    @Test func `a body is a range of the span, never more than is there nor more than is due`() throws {
        var decoder = FrameMessageDecoder()
        let stream = Streams.good + Streams.good
        let headerCount = Streams.good.count - 4
        let first = try decoder.decode(stream.span)
        #expect(first == .init(consumed: headerCount, event: .message(.frame(Self.header))))
        #expect(decoder.bodyRemaining == 4)
        let part = try decoder.decode(stream.span.extracting(headerCount..<(headerCount + 3)))
        #expect(part == .init(consumed: 3, event: .body(isLast: false)))
        #expect(decoder.bodyRemaining == 1)
        let rest = try decoder.decode(stream.span.extracting((headerCount + 3)...))
        #expect(rest == .init(consumed: 1, event: .body(isLast: true)))
        #expect(decoder.bodyRemaining == 0)
        let second = try decoder.decode(stream.span.extracting((headerCount + 4)...))
        #expect(second == first)
    }

    @Test func `a body may be read elsewhere, in part or whole, and counts out of range are clamped`() throws {
        var decoder = FrameMessageDecoder()
        let good = Streams.good
        let early = decoder.consumeBody(1)
        #expect(!early && decoder.offset == 0)
        _ = try decoder.decode(good.span)
        for (count, remaining) in [(0, 4), (-1, 4), (Int.min, 4), (1, 3)] {
            let isLast = decoder.consumeBody(count)
            #expect(!isLast)
            #expect(decoder.bodyRemaining == remaining)
        }
        let isLast = decoder.consumeBody(.max)
        #expect(isLast)
        #expect(decoder.offset == UInt64(good.count))
        let isLastAgain = decoder.consumeBody(1)
        #expect(!isLastAgain && decoder.offset == UInt64(good.count))
        try decoder.finish()
        let next = try decoder.decode(good.span)
        #expect(next.event == .message(.frame(Self.header)))
    }

    @Test func `being in a header begins with its first byte and ends with its last`() throws {
        var decoder = FrameMessageDecoder()
        #expect(!decoder.isInHeader)
        let good = Streams.good
        for index in good.indices {
            _ = try decoder.decode(good.span.extracting(index...index))
            #expect(decoder.isInHeader == (index < good.count - 5))
        }
    }

    @Test(
        arguments: ["GET", "HTTP/1.1 2\r"]
    )
    func `a failed decoder stays failed, with the same error, and consumes nothing more`(text: String) {
        var decoder = FrameMessageDecoder()
        let bytes = Streams.good + Array(text.utf8)
        var errors: [WireError] = []
        var index = 0
        for _ in 0..<5 {
            do {
                index += try decoder.decode(bytes.span.extracting(index...)).consumed
            } catch {
                errors.append(error)
            }
        }
        #expect(errors.count == 3)
        #expect(Set(errors).count == 1)
        let offset = decoder.offset
        let consumed = decoder.consumeBody(3)
        #expect(!consumed && !decoder.isInHeader && decoder.bodyRemaining == 0)
        let finished = Self.failureAtEnd(of: &decoder)
        #expect(finished == errors.first)
        #expect(decoder.offset == offset && offset == errors.first?.byteOffset)
    }

    @Test func `the end of the stream in a body is an error for good`() throws {
        var decoder = FrameMessageDecoder()
        let good = Streams.good
        _ = try decoder.decode(good.span)
        let first = Self.failureAtEnd(of: &decoder)
        let second = Self.failure(of: &decoder, in: good)
        #expect(first?.code == .bodyTruncated)
        #expect(second == first)
    }

    @Test func `copies of a decoder go their own ways`() throws {
        let good = Streams.good
        var one = FrameMessageDecoder()
        _ = try one.decode(good.span.extracting(..<30))
        var other = one
        let failure = Self.failure(of: &other, in: [0])
        #expect(failure?.code == .fieldInvalidName)
        let step = try one.decode(good.span.extracting(30...))
        #expect(step.event == .message(.frame(Self.header)))
    }

    private static func failure(of decoder: inout FrameMessageDecoder, in bytes: [UInt8]) -> WireError? {
        do {
            _ = try decoder.decode(bytes.span)
            return nil
        } catch {
            return error
        }
    }

    private static func failureAtEnd(of decoder: inout FrameMessageDecoder) -> WireError? {
        do {
            try decoder.finish()
            return nil
        } catch {
            return error
        }
    }
}
