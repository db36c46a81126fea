import FrameWire
import TestDescriptions
import TestSupport
import Testing

@Suite("Message boundaries", .tags(.computes))
struct FramingTests {
    private static func message(body: [UInt8], sequence: UInt64? = nil) -> [UInt8] {
        let size = BufferSize(width: 562, height: 1_218)
        return FrameHeader(contentLength: body.count, info: FrameInfo(bufferSize: size, sequence: sequence)).encoded()
            + body
    }

    @Test func `a body of length 0 ends its message with the header`() {
        let result = transcript(ofEverySplitOf: Self.message(body: []) + Streams.good)
        #expect(result.error == nil)
        #expect(result.messages.map(\.body) == [[], Array("BODY".utf8)])
        #expect(result.areAllComplete)
    }

    @Test(
        arguments: ["Content-Length", "Buffer-Width", "Buffer-Height", "Buffer-Orientation"]
    )
    func `a missing field is named at the end of the header`(name: String) {
        let stream = Array(Streams.text(replacing: name, with: nil).utf8)
        let result = transcript(ofEverySplitOf: stream)
        #expect(result.messages.isEmpty)
        #expect(result.error == WireError(code: .fieldMissing, byteOffset: UInt64(stream.count - 5), detail: name))
        let after = transcript(ofEverySplitOf: Streams.good + stream)
        #expect(after.messages.count == 1)
        #expect(after.error?.code == .fieldMissing && after.error?.detail == name)
    }

    @Test func `a header without fields, or with a field of the message before, is an error`() {
        let stream = Array("HTTP/1.1 200 OK\r\n\r\n".utf8)
        #expect(transcript(ofEverySplitOf: stream).error?.detail == "Content-Length")
        #expect(transcript(ofEverySplitOf: Streams.good + stream).error?.detail == "Content-Length")
    }

    @Test func `messages may follow back to back, and their bodies may contain headers`() {
        let bodies: [[UInt8]] = [Streams.good, [0], Array("\r\n\r\n".utf8), Streams.good + Streams.good, [0xFF, 0xD8]]
        let stream = bodies.enumerated().flatMap { Self.message(body: $1, sequence: UInt64($0)) }
        let result = transcript(ofEverySplitOf: stream)
        #expect(result.error == nil)
        #expect(result.messages.map(\.body) == bodies)
        #expect(result.messages.map(\.header?.sequence) == [0, 1, 2, 3, 4])
    }

    @Test(
        arguments: [
            ["Content-Length: 4", "Buffer-Width: 562", "Buffer-Height: 1218", "Buffer-Orientation: 6"],
            ["Buffer-Orientation: 6", "Buffer-Height: 1218", "Content-Length: 4", "Buffer-Width: 562"],
        ]
    )
    func `both orders of fields that existing Jitsi peers write are read, split at every byte`(lines: [String]) {
        let message = Array((Streams.header(lines) + "BODY").utf8)
        let result = transcript(ofEverySplitOf: message + message)
        let header = FrameHeader(
            contentLength: 4,
            info: FrameInfo(bufferSize: BufferSize(width: 562, height: 1_218), orientation: .right)
        )
        #expect(result.error == nil)
        #expect(result.messages.map(\.header) == [header, header])
        #expect(result.messages.map(\.body) == [Array("BODY".utf8), Array("BODY".utf8)])
    }

    @Test(arguments: 0..<4)
    func `an error at the end of the stream within a body says what came and what was due`(got: Int) {
        let stream = Array(Streams.good.dropLast(4 - got))
        let result = transcript(ofEverySplitOf: stream)
        #expect(result.messages.map(\.isComplete) == [false])
        let error = WireError(code: .bodyTruncated, byteOffset: UInt64(stream.count), detail: "\(got) of 4 bytes")
        #expect(result.error == error)
    }

    @Test func `the end of the stream is an error anywhere within a header, but not between messages`() {
        #expect(Transcript(of: []) == Transcript(of: [], isOpen: true))
        #expect(Transcript(of: Streams.good).error == nil)
        let good = Streams.good
        for got in 1..<(good.count - 4) {
            let error = WireError(code: .headTruncated, byteOffset: UInt64(got), detail: "after \(got) bytes")
            #expect(Transcript(of: Array(good.prefix(got))).error == error)
            let after = Transcript(of: good + good.prefix(got))
            #expect(after.error?.code == .headTruncated)
            #expect(after.error?.byteOffset == UInt64(good.count + got))
            #expect(after.messages.count == 1)
        }
    }

    @Test func `good messages before a bad one are delivered, and none after it`() {
        let stream = Streams.good + Streams.good + Array("BAD".utf8) + Streams.good
        let result = transcript(ofEverySplitOf: stream)
        #expect(result.messages.count == 2)
        #expect(result.areAllComplete)
        let detail = "\"B\""
        let error = WireError(code: .startLineMalformed, byteOffset: UInt64(2 * Streams.good.count), detail: detail)
        #expect(result.error == error)
    }

    @Test func `a body padded with zeros is a body like any other`() {
        let jpeg: [UInt8] = [0xFF, 0xD8, 0xFF, 0xD9]
        let padding = FramePadding.byteCount(forBodyOf: jpeg.count)
        let body = jpeg + [UInt8](repeating: 0, count: padding)
        let result = transcript(ofEverySplitOf: Self.message(body: body) + Streams.good)
        #expect(result.error == nil)
        #expect(result.messages.map(\.body) == [body, Array("BODY".utf8)])
        #expect(result.messages.first?.header?.contentLength == 10_240)
    }

    @Test(arguments: [UInt64(7)])
    func `a thousand messages are read in one span, and byte by byte`(seed: UInt64) {
        var random = SplitMix(seed: seed)
        var stream: [UInt8] = []
        var expected: [Transcript.Message] = []
        for index in 0..<1_000 {
            let count = Int.random(in: 200...9_000, using: &random)
            let header = FrameHeader(
                contentLength: count,
                info: FrameInfo(
                    bufferSize: BufferSize(width: count, height: 1 + index),
                    orientation: FrameOrientation.allCases[index % 9],
                    sequence: UInt64(index)
                )
            )
            let first = UInt8(truncatingIfNeeded: index)
            let body = [first] + [UInt8](repeating: UInt8.random(in: 0...255, using: &random), count: count - 1)
            expected.append(.init(kind: .frame(header), body: body, isComplete: true))
            stream += header.encoded() + body
        }
        let whole = Transcript(of: stream)
        #expect(whole.error == nil)
        #expect(whole.offset == UInt64(stream.count))
        // Compared as Booleans: a failure must not print nine megabytes.
        let isWholeRight = whole.messages == expected
        #expect(isWholeRight, "in one span, seed \(seed)")
        let bytewise = Transcript(of: stream, cutBefore: Array(stream.indices))
        let isBytewiseRight = bytewise == whole
        #expect(isBytewiseRight, "byte by byte, seed \(seed)")
    }
}
