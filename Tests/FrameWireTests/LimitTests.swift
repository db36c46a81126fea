import FrameWire
import TestDescriptions
import Testing

@Suite("Limits: accepted at the limit, rejected one above it, at the exact byte", .tags(.computes))
struct LimitTests {
    private static func defaults(_ kind: Transcript.Kind) -> FrameMessageDecoder.Limits {
        kind == .messages ? FrameMessageDecoder.Limits() : ControlDecoder.defaultLimits
    }

    /// A good header with lines replaced or added.
    private static func text(_ kind: Transcript.Kind, _ lines: [String]) -> String {
        Streams.header(lines, start: Streams.start(kind))
    }

    @Test func `the defaults are those of the wire format`() {
        let limits = FrameMessageDecoder.Limits()
        #expect(limits.maximumHeaderBytes == 8_192 && limits.maximumFields == 32)
        #expect(limits.maximumContentLength == 32 << 20 && limits.maximumAudioBytes == 256 << 10)
        #expect(limits.maximumDimension == 16_384 && limits.maximumPixels == 1 << 25)
        let requests = ControlDecoder.defaultLimits
        #expect(requests.maximumHeaderBytes == 2_048 && requests.maximumFields == 16)
        #expect(requests.maximumContentLength == 4_096)
    }

    /// Shows P157.
    @Test(arguments: Transcript.Kind.allCases) func `the length of a body is limited`(kind: Transcript.Kind) {
        for limit in [Self.defaults(kind).maximumContentLength, 1_000, 99, 9, 0] {
            var limits = Self.defaults(kind)
            limits.maximumContentLength = limit
            let lines = Streams.lines(kind).replacing("Content-Length", with: "Content-Length: \(limit)")
            let taken = transcript(ofEverySplitOf: Self.text(kind, lines).bytes, kind, limits: limits)
            #expect(taken.entries.count == 1 && taken.areAllComplete == (kind == .requests || limit == 0))
            let over = "\(limit + 1)"
            let line = "Content-Length: \(over.dropLast())¦\(over.suffix(1))"
            let wrong = Self.text(kind, Streams.lines(kind).replacing("Content-Length", with: line))
            // The good message that precedes a wrong one has a body of four bytes.
            WireCase(.contentLengthTooLarge, kind, stream: wrong).check(limits: limits, isBehindGood: limit >= 4)
        }
    }

    @Test(arguments: ["Buffer-Width", "Buffer-Height"]) func `the sides of an image are limited`(name: String) {
        var limits = FrameMessageDecoder.Limits()
        limits.maximumPixels = .max
        for limit in [16_384, 1_234] {
            limits.maximumDimension = limit
            let lines = Streams.lines(.messages).replacing(name, with: "\(name): \(limit)")
            #expect(Transcript(of: Self.text(.messages, lines).bytes, limits: limits).entries.count == 1)
            let digits = "\(limit + 1)"
            let line = "\(name): \(digits.dropLast())¦\(digits.suffix(1))"
            WireCase(.numberOutOfRange, line, insteadOf: name).check(limits: limits)
        }
    }

    @Test(arguments: [Sample.all[0], Sample.fullSharedFrame])
    func `the pixels of an image are limited once its header has ended`(sample: Sample) {
        func text(_ width: Int, _ height: Int) -> String {
            Streams.header(
                sample.lines.replacing("Buffer-Width", with: "Buffer-Width: \(width)")
                    .replacing("Buffer-Height", with: "Buffer-Height: \(height)")
            )
        }
        #expect(Transcript(of: text(8_192, 4_096).bytes).entries.count == 1)
        let wireCase = WireCase(.pixelsTooMany, stream: text(8_192, 4_097).markedAtEnd)
        wireCase.check()
        #expect(Transcript(of: wireCase.bytes).error?.detail == "8192 x 4097")
        var limits = FrameMessageDecoder.Limits()
        limits.maximumDimension = .max
        let enormous = text(9_999_999_999, 9_999_999_999).bytes
        #expect(Transcript(of: enormous, limits: limits).error?.code == .pixelsTooMany)
    }

    @Test func `the length of audio is limited, whatever the order of the fields`() {
        let sample = Sample.all[2]
        for limit in [256 << 10, 32] {
            var limits = FrameMessageDecoder.Limits()
            limits.maximumAudioBytes = limit
            for length in [limit, limit + 4] {
                let lines = sample.lines.replacing("Content-Length", with: "Content-Length: \(length)")
                for order in [lines, lines.reversed()] {
                    let result = transcript(ofEverySplitOf: Streams.header(order).bytes, limits: limits)
                    #expect(result.entries.count == (length == limit ? 1 : 0))
                    #expect(result.error?.code == (length == limit ? .bodyTruncated : .contentLengthTooLarge))
                }
            }
        }
    }

    @Test(arguments: Transcript.Kind.allCases) func `the bytes of a header are limited`(kind: Transcript.Kind) {
        for limit in [Self.defaults(kind).maximumHeaderBytes, 200, 112] {
            var limits = Self.defaults(kind)
            limits.maximumHeaderBytes = limit
            let filler = String(repeating: "v", count: limit - (Streams.good(kind).count - 4) - 4)
            let at = Self.text(kind, Streams.lines(kind) + ["X:" + filler]) + "BODY"
            let taken = transcript(ofEverySplitOf: at.bytes, kind, limits: limits)
            #expect(taken.error == nil && taken.entries.count == 1)
            let over = Self.text(kind, Streams.lines(kind) + ["X:v" + filler])
            let refused = transcript(ofEverySplitOf: over.bytes, kind, limits: limits)
            #expect(refused.entries.isEmpty && refused.error?.code == .headTooLong)
            #expect(refused.error?.byteOffset == UInt64(limit))
        }
    }

    @Test(arguments: Transcript.Kind.allCases)
    func `a header longer than its limit is refused at the very byte, whatever the limit`(kind: Transcript.Kind) {
        let stream = Streams.good(kind)
        for limit in -1..<(stream.count - 4) {
            var limits = Self.defaults(kind)
            limits.maximumHeaderBytes = limit
            let whole = Transcript(of: stream, kind, limits: limits)
            #expect(whole.error?.code == .headTooLong && whole.error?.byteOffset == UInt64(max(limit, 0)))
            #expect(whole == Transcript(of: stream, kind, cutBefore: Array(stream.indices), limits: limits))
            // What is wrong before the limit comes first.
            guard limit > 0 else { continue }
            var wrong = stream
            wrong[limit - 1] = 0
            let earlier = Transcript(of: wrong, kind, limits: limits).error
            #expect(earlier?.byteOffset == UInt64(limit - 1) && earlier?.code != .headTooLong)
        }
    }

    @Test(arguments: Transcript.Kind.allCases) func `the fields of a header are limited`(kind: Transcript.Kind) {
        let lines = Streams.lines(kind)
        for limit in [Self.defaults(kind).maximumFields, lines.count + 1, lines.count] {
            var limits = Self.defaults(kind)
            limits.maximumFields = limit
            let unknown = (lines.count..<limit).map { "X-\($0): y" }
            let at = Self.text(kind, lines + unknown) + "BODY"
            let taken = transcript(ofEverySplitOf: at.bytes, kind, limits: limits)
            #expect(taken.error == nil && taken.entries.count == 1)
            for last in ["X: y", "Buffer-Sequence: 1", " folded", "\n"] {
                WireCase(.headTooManyFields, kind, stream: Self.text(kind, lines + unknown + ["¦" + last])).check(
                    limits: limits
                )
            }
        }
    }

    @Test func `a number has at most 10 digits even if the user sets no limits`() {
        var limits = FrameMessageDecoder.Limits()
        (limits.maximumContentLength, limits.maximumDimension, limits.maximumPixels) = (.max, .max, .max)
        WireCase(.contentLengthTooLarge, "Content-Length: 9999999999¦0", insteadOf: "Content-Length").check(
            limits: limits
        )
        WireCase(.numberOutOfRange, "Buffer-Width: 1000000000¦0", insteadOf: "Buffer-Width").check(limits: limits)
        let lines = Streams.lines(.messages).replacing("Content-Length", with: "Content-Length: 9999999999")
        let result = Transcript(of: Streams.header(lines).bytes, limits: limits)
        #expect(result.entries.first?.header?.contentLength == 9_999_999_999)
    }

    @Test(arguments: [Int.min, -1, 0]) func `absurd limits refuse everything and trap nothing`(limit: Int) {
        let paths: [WritableKeyPath<FrameMessageDecoder.Limits, Int>] = [
            \.maximumHeaderBytes, \.maximumFields, \.maximumContentLength, \.maximumDimension, \.maximumPixels,
        ]
        for kind in Transcript.Kind.allCases {
            for path in kind == .messages ? paths : Array(paths.prefix(3)) {
                var limits = Self.defaults(kind)
                limits[keyPath: path] = limit
                let result = transcript(ofEverySplitOf: Streams.good(kind), kind, limits: limits)
                #expect(result.entries.isEmpty && result.error != nil)
            }
        }
        var limits = FrameMessageDecoder.Limits()
        limits.maximumAudioBytes = limit
        #expect(Transcript(of: Sample.all[2].encoded, limits: limits).error?.code == .contentLengthTooLarge)
    }
}
