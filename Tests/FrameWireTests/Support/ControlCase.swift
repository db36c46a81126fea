import FrameWire
import Testing

/// A request with one wrong byte, and what must come of it: an error there, or only that the request is skipped.
struct ControlCase: Sendable, CustomTestStringConvertible {
    let code: WireError.Code
    let bytes: [UInt8]
    let offset: Int
    let testDescription: String

    /// A stream given by text, with the mark of ``WireCase`` before its wrong byte; each scalar is one byte.
    init(_ code: WireError.Code, stream text: String) {
        let wireCase = WireCase(code, stream: text)
        self.code = code
        bytes = wireCase.bytes
        offset = wireCase.offset
        testDescription = wireCase.testDescription
    }

    /// A request of this name, with these lines behind a `Content-Length` of 0.
    init(_ code: WireError.Code, _ name: String, _ lines: String...) {
        self.init(code, stream: Requests.text(name, ["Content-Length: 0"] + lines))
    }

    /// Checks the error at its byte: in the stream alone, and behind a good request, which must be delivered.
    func checkIsFinal(limits: ControlLimits = .init(), sourceLocation: SourceLocation = #_sourceLocation) {
        #expect(offset >= 0, "a case needs one mark", sourceLocation: sourceLocation)
        let alone = controlTranscript(ofEverySplitOf: bytes, limits: limits, sourceLocation: sourceLocation)
        #expect(alone.entries.isEmpty, sourceLocation: sourceLocation)
        #expect(alone.error?.code == code, sourceLocation: sourceLocation)
        #expect(alone.error?.byteOffset == UInt64(offset), sourceLocation: sourceLocation)
        #expect(alone.offset == UInt64(offset), sourceLocation: sourceLocation)

        let good = Requests.good
        let after = controlTranscript(ofEverySplitOf: good + bytes, limits: limits, sourceLocation: sourceLocation)
        #expect(after.requests == [.ping(7)], sourceLocation: sourceLocation)
        #expect(after.error?.code == code, sourceLocation: sourceLocation)
        #expect(after.error?.byteOffset == UInt64(good.count + offset), sourceLocation: sourceLocation)
    }

    /// Checks that the request is skipped for its fault, and that the requests before and behind it are delivered.
    func checkIsSkipped(name: String, sourceLocation: SourceLocation = #_sourceLocation) {
        #expect(offset >= 0, "a case needs one mark", sourceLocation: sourceLocation)
        let good = Requests.good
        let result = controlTranscript(ofEverySplitOf: good + bytes + good, sourceLocation: sourceLocation)
        #expect(result.error == nil, sourceLocation: sourceLocation)
        #expect(result.requests == [.ping(7), .ping(7)], sourceLocation: sourceLocation)
        let skipped = SkippedRequest(
            name: name,
            reason: .malformed(code),
            byteOffset: UInt64(good.count + offset)
        )
        #expect(result.skipped == [skipped], sourceLocation: sourceLocation)
    }
}

/// Requests as text.
enum Requests {
    /// A small good request, a ping of the number 7.
    static var good: [UInt8] { Array(text("ping", ["Content-Length: 0", "Ping-Number: 7"]).utf8) }

    static func text(_ name: String, _ lines: [String]) -> String {
        Streams.header(lines, start: "POST /\(name) HTTP/1.1")
    }
}
