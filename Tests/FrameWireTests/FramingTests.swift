import FrameWire
import TestDescriptions
import TestSupport
import Testing

@Suite("Decoders: bodies, ends and state", .tags(.computes))
struct FramingTests {
    private static func frame(body: [UInt8], sequence: UInt64? = nil) -> [UInt8] {
        FrameHeader(contentLength: body.count, info: FrameInfo(bufferSize: Sample.size, sequence: sequence)).encoded()
            + body
    }

    @Test func `messages may follow back to back, and their bodies may contain headers`() {
        let good = Streams.good()
        let bodies: [[UInt8]] = [good, [], [0], Array("\r\n\r\n".utf8), good + good, [0xFF, 0xD8]]
        let stream = bodies.enumerated().flatMap { Self.frame(body: $1, sequence: UInt64($0)) }
        let result = transcript(ofEverySplitOf: stream)
        #expect(result.error == nil && result.areAllComplete && result.entries.map(\.body) == bodies)
        #expect(result.entries.map(\.header?.sequence) == [0, 1, 2, 3, 4, 5])
    }

    @Test(
        arguments: [
            ["Content-Length: 4", "Buffer-Width: 562", "Buffer-Height: 1218", "Buffer-Orientation: 1"],
            ["Buffer-Orientation: 1", "Buffer-Height: 1218", "Content-Length: 4", "Buffer-Width: 562"],
        ]
    )
    func `both orders of fields that existing Jitsi peers write are read, split at every byte`(lines: [String]) {
        let message = (Streams.header(lines) + "BODY").bytes
        let result = transcript(ofEverySplitOf: message + message)
        #expect(result.error == nil && result.items == [Streams.item(.messages), Streams.item(.messages)])
        #expect(result.entries.map(\.body) == [Array("BODY".utf8), Array("BODY".utf8)])
    }

    @Test func `good messages before a bad one are delivered, and none after it`() {
        let good = Streams.good()
        let result = transcript(ofEverySplitOf: good + good + Array("BAD".utf8) + good)
        #expect(result.entries.count == 2 && result.areAllComplete)
        let offset = UInt64(2 * good.count)
        #expect(result.error == WireError(code: .startLineMalformed, byteOffset: offset, detail: "\"B\""))
    }

    // MARK: The end of a stream

    @Test func `the end of the stream is an error anywhere within a message, but not between messages`() {
        #expect(Transcript(of: []) == Transcript(of: [], isOpen: true))
        let good = Streams.good()
        let headerCount = good.count - 4
        for got in 1..<good.count {
            let isInHeader = got < headerCount
            let detail = isInHeader ? "after \(got) bytes" : "\(got - headerCount) of 4 bytes"
            let code: WireError.Code = isInHeader ? .headTruncated : .bodyTruncated
            let alone = Transcript(of: Array(good.prefix(got)))
            #expect(alone.error == WireError(code: code, byteOffset: UInt64(got), detail: detail))
            #expect(alone.entries.map(\.isComplete) == (isInHeader ? [] : [false]))
            let after = Transcript(of: good + good.prefix(got))
            #expect(after.error?.byteOffset == UInt64(good.count + got) && after.error?.detail == detail)
        }
    }

    @Test func `what is wrong in a line that the end cuts off is found`() {
        for (code, text) in [(.lineMalformed, "X\u{0}"), (.fieldDuplicate, "Content-Length:"), (nil, "Content-Leng")]
            as [(WireError.Code?, String)]
        {
            let bytes = Array(Streams.good().dropLast(6)) + text.bytes
            let result = transcript(ofEverySplitOf: bytes)
            #expect(result.error?.code == code ?? .headTruncated)
            #expect(Transcript(of: bytes, isOpen: true).error == nil)
            #expect(result.error?.byteOffset == UInt64(code == nil ? bytes.count : bytes.count - 1))
        }
    }

    // MARK: State

    @Test func `an empty span changes nothing, at whatever position of the stream`() throws {
        func check(_ decoder: consuming some StreamDecoder, _ good: [UInt8]) throws {
            var index = 0
            for count in [0, 5, 40, good.count - 4, good.count - 1, good.count] {
                while index < count { index += try decoder.part(of: good.span.extracting(index..<count)).consumed }
                let part = try decoder.part(of: good.span.extracting(count..<count))
                #expect(part.consumed == 0 && part.content == .incomplete)
            }
        }
        try check(FrameMessageDecoder(), Streams.good())
        try check(ControlDecoder(), Streams.good(.requests))
    }

    @Test func `being in a header begins with its first byte and ends with its last`() throws {
        var decoder = FrameMessageDecoder()
        let good = Streams.good()
        #expect(!decoder.isInHeader)
        for index in good.indices {
            _ = try decoder.decode(good.span.extracting(index...index))
            #expect(decoder.isInHeader == (index < good.count - 5))
        }
    }

    @Test(arguments: ["GET", "HTTP/1.1 2\r", "POST /x HTTP/1.1\r\r", "HTTP/1.1 200 OK\r\nX\u{0}: y\r\n"])
    func `a failed decoder stays failed, with the same error, and consumes nothing more`(text: String) {
        func errors(of decoder: inout some StreamDecoder, _ good: [UInt8]) -> [WireError] {
            let bytes = good + text.bytes
            var (errors, index): ([WireError], Int) = ([], 0)
            for _ in 0..<6 {
                do throws(WireError) {
                    index += try decoder.part(of: bytes.span.extracting(index...)).consumed
                } catch {
                    errors.append(error)
                }
            }
            #expect(errors.count >= 4 && Set(errors).count == 1)
            return errors
        }
        var (decoder, requests) = (FrameMessageDecoder(), ControlDecoder())
        let error = errors(of: &decoder, Streams.good()).first
        let finish = #expect(throws: WireError.self) { try decoder.finish() }
        #expect(finish == error && decoder.offset == error?.byteOffset)
        #expect(!decoder.isInHeader && decoder.bodyRemaining == 0)
        _ = errors(of: &requests, Streams.good(.requests))
    }

    @Test func `a body is a range of the span, never more than is there nor more than is due`() throws {
        var decoder = FrameMessageDecoder()
        let good = Streams.good()
        let stream = good + good
        let headerCount = good.count - 4
        let first = try decoder.decode(stream.span)
        #expect(first.consumed == headerCount && decoder.bodyRemaining == 4)
        let part = try decoder.decode(stream.span.extracting(headerCount..<(headerCount + 3)))
        #expect(part == .init(consumed: 3, event: .body(isLast: false)) && decoder.bodyRemaining == 1)
        let rest = try decoder.decode(stream.span.extracting((headerCount + 3)...))
        #expect(rest == .init(consumed: 1, event: .body(isLast: true)) && decoder.bodyRemaining == 0)
        let second = try decoder.decode(stream.span.extracting(good.count...))
        #expect(second == first)
    }

    @Test func `a body may be read elsewhere, in part or whole, and counts out of range are clamped`() throws {
        var decoder = FrameMessageDecoder()
        let good = Streams.good()
        let early = decoder.consumeBody(1)
        #expect(!early && decoder.offset == 0)
        let first = try decoder.decode(good.span)
        for (count, remaining) in [(0, 4), (-1, 4), (Int.min, 4), (1, 3)] {
            let isLast = decoder.consumeBody(count)
            #expect(!isLast && decoder.bodyRemaining == remaining)
        }
        let isLast = decoder.consumeBody(.max)
        #expect(isLast && decoder.offset == UInt64(good.count))
        let isLastAgain = decoder.consumeBody(1)
        #expect(!isLastAgain && decoder.offset == UInt64(good.count))
        try decoder.finish()
        let second = try decoder.decode(good.span)
        #expect(second == first)
    }
}
