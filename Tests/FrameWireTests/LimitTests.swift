import FrameWire
import TestDescriptions
import Testing

@Suite("Limits: accepted at the limit, rejected one above it, at the exact byte", .tags(.computes))
struct LimitTests {
    private static func stream(_ name: String, _ value: Int) -> [UInt8] {
        Array(Streams.text(replacing: name, with: "\(name): \(value)").utf8)
    }

    /// Shows P157.
    @Test(arguments: [32 << 20, 1_000, 9, 99])
    func `the length of a body is limited`(limit: Int) {
        var limits = FrameMessageDecoder.Limits()
        if limit == 32 << 20 { #expect(limits.maximumContentLength == limit) }
        limits.maximumContentLength = limit
        let taken = transcript(ofEverySplitOf: Self.stream("Content-Length", limit), limits: limits)
        #expect(taken.messages.map(\.header?.contentLength) == [limit])
        #expect(taken.error?.code == .bodyTruncated)
        let over = "\(limit + 1)"
        let line = "Content-Length: \(over.dropLast())¦\(over.suffix(1))"
        WireCase(.contentLengthTooLarge, line, insteadOf: "Content-Length").check(limits: limits)
    }

    @Test(arguments: ["Buffer-Width", "Buffer-Height"])
    func `the sides of an image are limited`(name: String) {
        var limits = FrameMessageDecoder.Limits()
        limits.maximumPixels = .max
        let taken = transcript(ofEverySplitOf: Self.stream(name, 16_384), limits: limits)
        #expect(taken.error == nil)
        #expect(taken.messages.count == 1)
        WireCase(.dimensionTooLarge, name + ": 1638¦5", insteadOf: name).check(limits: limits)
    }

    @Test func `the pixels of an image are limited once its header has ended`() {
        var limits = FrameMessageDecoder.Limits()
        #expect(limits.maximumPixels == 1 << 25)
        let at = Streams.header([
            "Content-Length: 4", "Buffer-Width: 8192", "Buffer-Height: 4096", "Buffer-Orientation: 1",
        ])
        let taken = transcript(ofEverySplitOf: Array((at + "BODY").utf8))
        #expect(taken.error == nil)
        #expect(taken.messages.count == 1)
        // By scalars: CR LF is one character.
        let over = String(String.UnicodeScalarView(at.replacing("4096", with: "4097").unicodeScalars.dropLast()))
        let wireCase = WireCase(.pixelsTooMany, stream: over + "¦\nBODY")
        wireCase.check()
        #expect(Transcript(of: wireCase.bytes).error?.detail == "8192 x 4097")

        limits.maximumDimension = .max
        let enormous = at.replacing("8192", with: "9999999999").replacing("4096", with: "9999999999")
        #expect(Transcript(of: Array(enormous.utf8), limits: limits).error?.code == .pixelsTooMany)
    }

    @Test(arguments: [8_192, 200, 112])
    func `the bytes of a header are limited`(limit: Int) {
        var limits = FrameMessageDecoder.Limits()
        if limit == 8_192 { #expect(limits.maximumHeaderBytes == limit) }
        limits.maximumHeaderBytes = limit
        let headerCount = Streams.good.count - 4
        let filler = String(repeating: "v", count: limit - headerCount - 4)
        let taken = transcript(
            ofEverySplitOf: Array(Streams.text(replacing: nil, with: "X:" + filler).utf8),
            limits: limits
        )
        #expect(taken.error == nil)
        #expect(taken.messages.count == 1)

        let tooLong = Array(Streams.text(replacing: nil, with: "X:v" + filler).utf8)
        let refused = transcript(ofEverySplitOf: tooLong, limits: limits)
        #expect(refused.messages.isEmpty)
        #expect(refused.error?.code == .headTooLong)
        #expect(refused.error?.byteOffset == UInt64(limit))
    }

    @Test func `a header longer than its limit is refused at the very byte, whatever the limit`() {
        let stream = Streams.good
        for limit in -1..<(stream.count - 4) {
            var limits = FrameMessageDecoder.Limits()
            limits.maximumHeaderBytes = limit
            let whole = Transcript(of: stream, limits: limits)
            #expect(whole.error?.code == .headTooLong)
            #expect(whole.error?.byteOffset == UInt64(max(limit, 0)))
            #expect(whole == Transcript(of: stream, cutBefore: Array(stream.indices), limits: limits))
        }
    }

    @Test(
        arguments: ["HTTP/1.1 200 ", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nX:"]
    )
    func `an endless reason phrase, name or value is refused at the limit`(beginning: String) {
        let stream = Array((beginning + String(repeating: "a", count: 9_000)).utf8)
        let result = transcript(ofEverySplitOf: stream)
        #expect(result.error?.code == .headTooLong)
        #expect(result.error?.byteOffset == 8_192)
        #expect((result.error?.detail.utf8.count ?? .max) < 100)
    }

    @Test(arguments: [32, 5, 4])
    func `the fields of a header are limited`(limit: Int) {
        var limits = FrameMessageDecoder.Limits()
        if limit == 32 { #expect(limits.maximumFields == limit) }
        limits.maximumFields = limit
        let unknown = (4..<limit).map { "X-\($0): y" }
        let lines = ["Content-Length: 4", "Buffer-Width: 562", "Buffer-Height: 1218", "Buffer-Orientation: 1"]
        let taken = transcript(ofEverySplitOf: Array((Streams.header(lines + unknown) + "BODY").utf8), limits: limits)
        #expect(taken.error == nil)
        #expect(taken.messages.count == 1)
        // The last field is one that the decoder takes in one go, the first one over the limit included.
        for last in ["X: y", "Buffer-Sequence: 1", " folded"] {
            let over = WireCase(.headTooManyFields, stream: Streams.header(lines + unknown + [WireCase.mark + last]))
            #expect(transcript(ofEverySplitOf: over.bytes, limits: limits).error?.code == .headTooManyFields)
            #expect(Transcript(of: over.bytes, limits: limits).error?.byteOffset == UInt64(over.offset))
        }
    }

    @Test(arguments: [Int.min, -1, 0])
    func `absurd limits refuse everything and trap nothing`(limit: Int) {
        let paths: [WritableKeyPath<FrameMessageDecoder.Limits, Int>] = [
            \.maximumHeaderBytes, \.maximumFields, \.maximumContentLength, \.maximumDimension, \.maximumPixels,
        ]
        for path in paths {
            var limits = FrameMessageDecoder.Limits()
            limits[keyPath: path] = limit
            let result = transcript(ofEverySplitOf: Streams.good, limits: limits)
            #expect(result.messages.isEmpty)
            #expect(result.error != nil)
        }
    }
}
