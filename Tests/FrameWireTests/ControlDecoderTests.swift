import FrameWire
import TestDescriptions
import TestSupport
import Testing

@Suite("Valid requests and decoder state", .tags(.computes))
struct ControlDecoderTests {
    @Test(
        arguments: [
            ("", ""), ("nope", "nope"), ("HELLO", "HELLO"), ("ping/2?x=y", "ping/2?x=y"), ("pingg", "pingg"),
            (String(repeating: "n", count: 32), String(repeating: "n", count: 32)),
            (String(repeating: "n", count: 33), String(repeating: "n", count: 32) + "..."),
        ]
    )
    func `a request with an unknown name is skipped by its length`(name: String, excerpt: String) {
        let lines = ["Content-Length: 5", "Ping-Number: x", "Ping-Number:"]
        let stream = Array((Requests.text(name, lines) + "POST ").utf8)
        let result = controlTranscript(ofEverySplitOf: Requests.good + stream + Requests.good)
        #expect(result.error == nil)
        #expect(result.requests == [.ping(7), .ping(7)])
        let offset = UInt64(Requests.good.count)
        #expect(result.skipped == [SkippedRequest(name: excerpt, reason: .unknown, byteOffset: offset)])
        #expect(result.entries.map(\.bodyCount) == [0, 5, 0])
    }

    @Test(arguments: ["pause", "nope"])
    func `the body of a known request, a request within it included, is skipped`(name: String) {
        let body = Requests.good
        let stream = Array(Requests.text(name, ["Content-Length: \(body.count)"]).utf8) + body + Requests.good
        let result = controlTranscript(ofEverySplitOf: stream)
        #expect(result.error == nil)
        #expect(result.requests == (name == "pause" ? [.pause, .ping(7)] : [.ping(7)]))
        #expect(result.entries.map(\.bodyCount) == [body.count, 0])
    }

    @Test(
        arguments: [
            ["CONTROL-VERSION:1", "WANTS-AUDIO:1", "CONTENT-LENGTH:0"],
            ["content-length: \t0 \t", "control-version:  1\t", "wants-audio:1 ", "wants-pictures: 0"],
            ["X: \u{FF}", "X:", "Wants-Audio: 1", "Wants-Smell: yes", "Control-Version: 1", "Content-Length: 0"],
            // Fields of other requests mean nothing here, whatever they say.
            [
                "Ping-Number: x", "Ping-Number:", "Finish-Reason: 1", "Prefer-Width: 0", "Prefer-Quality: 1000",
                "Wants-Audio: 1", "Control-Version: 1", "Content-Length: 0",
            ],
        ]
    )
    func `any case, order and optional white space, and unknown fields, are accepted`(lines: [String]) {
        let text = Requests.text("hello", lines)
        let result = controlTranscript(ofEverySplitOf: text.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) })
        #expect(result.error == nil && result.skipped.isEmpty)
        #expect(result.requests == [.hello(ControlRequest.Hello(version: 1, wants: .audio))])
    }

    @Test func `the end of the stream is an error anywhere within a request, but not between requests`() {
        #expect(ControlTranscript(of: []).error == nil)
        let good = Requests.good
        #expect(ControlTranscript(of: good).error == nil)
        for got in 1..<good.count {
            let error = WireError(code: .headTruncated, byteOffset: UInt64(got), detail: "after \(got) bytes")
            #expect(ControlTranscript(of: Array(good.prefix(got))).error == error)
        }
        let header = Array(Requests.text("pause", ["Content-Length: 3"]).utf8)
        for got in 0..<3 {
            let stream = header + [UInt8](repeating: 0, count: got)
            let error = WireError(
                code: .bodyTruncated,
                byteOffset: UInt64(stream.count),
                detail: "\(got) of 3 bytes"
            )
            #expect(ControlTranscript(of: stream).error == error)
        }
    }

    @Test(
        arguments: ["GET", "POST /x HTTP/1.1\r\r"]
    )
    func `an empty span takes nothing, and a failed decoder stays failed`(text: String) throws {
        var decoder = ControlDecoder()
        let nothing = try decoder.decode([UInt8]().span)
        #expect(nothing == .init(consumed: 0, event: .incomplete))
        let bytes = Requests.good + Array(text.utf8)
        var errors: [WireError] = []
        var index = 0
        for _ in 0..<4 {
            do {
                index += try decoder.decode(bytes.span.extracting(index...)).consumed
            } catch {
                errors.append(error)
            }
        }
        do {
            try decoder.finish()
        } catch {
            errors.append(error)
        }
        #expect(errors.count == 4 && Set(errors).count == 1)
        #expect(!decoder.isInHeader && decoder.bodyRemaining == 0)
        #expect(decoder.offset == errors.first?.byteOffset)
    }

    @Test func `being in a header begins with its first byte and ends with its last`() throws {
        var decoder = ControlDecoder()
        #expect(!decoder.isInHeader)
        let good = Requests.good
        for index in good.indices {
            _ = try decoder.decode(good.span.extracting(index...index))
            #expect(decoder.isInHeader == (index < good.count - 1))
        }
    }

    @Test func `what was skipped says so in a sentence`() {
        let unknown = SkippedRequest(name: "nope", reason: .unknown, byteOffset: 3)
        #expect("\(unknown)" == "Unknown request, \"nope\", at byte 3")
        let malformed = SkippedRequest(name: "ping", reason: .malformed(.numberEmpty), byteOffset: 9)
        #expect("\(malformed)" == "In request \"ping\": Number without digits at byte 9 (number.empty)")
    }

    @Test(arguments: [UInt64(21), 22])
    func `requests with random faults give the same result whole, halved and byte by byte`(seed: UInt64) {
        let telling = Array("\r\n: \t09148,-HTPOS/.CcWwx\0\u{7F}".utf8) + [0x80, 0xFF]
        var random = SplitMix(seed: seed)
        var faults: Set<WireError.Code> = []
        var reasons: Set<SkippedRequest.Reason> = []
        for round in 0..<1_000 {
            var stream = (0..<3).flatMap { _ in ControlRequestTests.request(&random).encoded() }
            stream.damage(with: telling, using: &random)
            let whole = stream.decodedHoweverCut("seed \(seed), round \(round)", using: &random) { stream, cuts in
                ControlTranscript(of: stream, cutBefore: cuts)
            }
            if let error = whole.error { faults.insert(error.code) }
            reasons.formUnion(whole.skipped.map(\.reason))
        }
        #expect(faults.count > 10, "the faults reach most of the decoder: \(faults)")
        #expect(reasons.count > 4, "many requests are skipped: \(reasons)")
    }
}
