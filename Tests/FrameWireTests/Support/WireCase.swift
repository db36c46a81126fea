import FrameWire
import TestDescriptions
import TestSupport
import Testing

/// A stream with one wrong byte, and the error that it must give there.
struct WireCase: Sendable, CustomTestStringConvertible {
    /// Stands before the wrong byte in the text of a case; no stream has it.
    static let mark = "¦"

    let kind: Transcript.Kind
    let code: WireError.Code
    let bytes: [UInt8]
    let offset: Int
    let testDescription: String

    /// A stream given by text, with the ``mark`` before its wrong byte; each scalar is one byte.
    init(_ code: WireError.Code, _ kind: Transcript.Kind = .messages, stream text: String) {
        (self.code, self.kind) = (code, kind)
        let parts = text.unicodeScalars.split(separator: "¦", omittingEmptySubsequences: false)
        let pieces = parts.map { part in part.map { UInt8(truncatingIfNeeded: $0.value) } }
        bytes = pieces.flatMap(\.self)
        offset = pieces.count == 2 ? pieces[0].count : -1
        // The line of the wrong byte tells cases apart.
        let line = text.split(separator: "\r\n").first { $0.contains(Self.mark) } ?? text[...]
        testDescription = "\(kind): " + shortened(line.debugDescription)
    }

    /// A good header, and its body, with a line that is added before the blank one.
    init(_ code: WireError.Code, _ kind: Transcript.Kind = .messages, line: String) {
        self.init(code, kind, stream: Streams.header(Streams.lines(kind) + [line], start: Streams.start(kind)) + "BODY")
    }

    /// A good message with the line of the field `name` written as `line` instead.
    init(_ code: WireError.Code, _ line: String, insteadOf name: String) {
        self.init(code, stream: Streams.header(Streams.lines(.messages).replacing(name, with: line)) + "BODY")
    }

    /// Checks the error at its byte: in the stream alone, and behind a good message, which must be delivered.
    func check(
        limits: FrameMessageDecoder.Limits? = nil,
        isBehindGood: Bool = true,
        isSplit: Bool = true,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect(offset >= 0, "a case needs one mark", sourceLocation: sourceLocation)
        func read(_ bytes: [UInt8]) -> Transcript {
            guard isSplit else { return Transcript(of: bytes, kind, limits: limits) }
            return transcript(ofEverySplitOf: bytes, kind, limits: limits, sourceLocation: sourceLocation)
        }
        let alone = read(bytes)
        #expect(alone.entries.isEmpty && alone.error?.code == code, sourceLocation: sourceLocation)
        #expect(alone.error?.byteOffset == UInt64(offset), sourceLocation: sourceLocation)
        #expect(alone.offset == UInt64(offset), sourceLocation: sourceLocation)
        guard isBehindGood else { return }

        let good = Streams.good(kind)
        let after = read(good + bytes)
        #expect(after.items == [Streams.item(kind)] && after.areAllComplete, sourceLocation: sourceLocation)
        #expect(after.error?.code == code, sourceLocation: sourceLocation)
        #expect(after.error?.byteOffset == UInt64(good.count + offset), sourceLocation: sourceLocation)
        #expect(after.error?.detail == alone.error?.detail, sourceLocation: sourceLocation)
    }

    /// Checks that the request is skipped for its fault, and that the requests before and behind it are delivered.
    func checkIsSkipped(name: String, isSplit: Bool = true, sourceLocation: SourceLocation = #_sourceLocation) {
        #expect(offset >= 0, "a case needs one mark", sourceLocation: sourceLocation)
        let good = Streams.good(.requests)
        let stream = good + bytes + good
        let result =
            isSplit
            ? transcript(ofEverySplitOf: stream, .requests, sourceLocation: sourceLocation)
            : Transcript(of: stream, .requests)
        #expect(result.error == nil, sourceLocation: sourceLocation)
        #expect(
            result.items == [
                Streams.item(.requests), .skipped(isPreference: name == "prefer"), Streams.item(.requests),
            ],
            sourceLocation: sourceLocation
        )
    }
}

/// Streams as peers write them.
enum Streams {
    /// One small good message or request, with a body of four bytes.
    static func good(_ kind: Transcript.Kind = .messages) -> [UInt8] {
        Array((header(lines(kind), start: start(kind)) + "BODY").utf8)
    }

    /// What it is.
    static func item(_ kind: Transcript.Kind) -> Transcript.Item {
        let info = FrameInfo(bufferSize: BufferSize(width: 562, height: 1_218))
        return kind == .messages
            ? .message(.frame(FrameHeader(contentLength: 4, info: info))) : .request(.ping(7))
    }

    static func lines(_ kind: Transcript.Kind) -> [String] {
        kind == .messages
            ? ["Content-Length: 4", "Buffer-Width: 562", "Buffer-Height: 1218", "Buffer-Orientation: 1"]
            : ["Content-Length: 4", "Ping-Number: 7"]
    }

    static func start(_ kind: Transcript.Kind, name: String = "ping") -> String {
        kind == .messages ? "HTTP/1.1 200 OK" : "POST /\(name) HTTP/1.1"
    }

    static func header(_ lines: [String], start: String = "HTTP/1.1 200 OK") -> String {
        start + "\r\n" + lines.map { $0 + "\r\n" }.joined() + "\r\n"
    }
}

extension [String] {
    /// The lines with that of the field `name` replaced, or left out if there is no other.
    func replacing(_ name: String, with line: String? = nil) -> [String] {
        flatMap { $0.hasPrefix(name + ":") ? line.map { [$0] } ?? [] : [$0] }
    }
}

extension String {
    /// The bytes of a text, one for each scalar.
    var bytes: [UInt8] { unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) } }

    /// The text with the mark before its last byte; by scalars, because CR LF is one character.
    var markedAtEnd: String {
        String(String.UnicodeScalarView(unicodeScalars.dropLast())) + WireCase.mark + String(unicodeScalars.suffix(1))
    }
}

extension [UInt8] {
    /// Makes up to two random faults: a byte is replaced, inserted or removed by one that means something to a decoder.
    mutating func damage(using random: inout SplitMix) {
        let telling = Array("\r\n: \t0914816,-HTPOS/.CcBbMmSsWwXx=\0\u{7F}".utf8) + [0x80, 0xFF]
        for _ in 0..<Int.random(in: 0...2, using: &random) {
            let index = Int.random(in: indices, using: &random)
            let byte = telling.randomElement(using: &random) ?? 0
            switch Int.random(in: 0...2, using: &random) {
            case 0: self[index] = byte
            case 1: insert(byte, at: index)
            default: remove(at: index)
            }
        }
    }
}
