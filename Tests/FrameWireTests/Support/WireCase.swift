import FrameWire
import TestDescriptions
import Testing

/// A stream with one wrong byte, and the error that it must give there.
struct WireCase: Sendable, CustomTestStringConvertible {
    /// Stands before the wrong byte in the text of a case; no stream has it.
    static let mark = "¦"

    let code: WireError.Code
    let bytes: [UInt8]
    let offset: Int
    let testDescription: String

    /// A stream given by text, with the ``mark`` before its wrong byte; each scalar is one byte.
    init(_ code: WireError.Code, stream text: String) {
        self.code = code
        let parts = text.unicodeScalars.split(separator: "¦", omittingEmptySubsequences: false)
        let pieces = parts.map { part in part.map { UInt8(truncatingIfNeeded: $0.value) } }
        bytes = pieces.flatMap(\.self)
        offset = pieces.count == 2 ? pieces[0].count : -1
        // The line of the wrong byte tells cases apart.
        let line = text.split(separator: "\r\n").first { $0.contains(Self.mark) } ?? text[...]
        testDescription = shortened(line.debugDescription)
    }

    /// A good header and body with the line of the field `name` written as `line` instead; without a name it is added.
    init(_ code: WireError.Code, _ line: String, insteadOf name: String? = nil) {
        self.init(code, stream: Streams.text(replacing: name, with: line))
    }

    /// Checks the error at its byte: in the stream alone, and behind a good message, which must be delivered.
    func check(limits: FrameMessageDecoder.Limits = .init(), sourceLocation: SourceLocation = #_sourceLocation) {
        #expect(offset >= 0, "a case needs one mark", sourceLocation: sourceLocation)
        let alone = transcript(ofEverySplitOf: bytes, limits: limits, sourceLocation: sourceLocation)
        #expect(alone.messages.isEmpty, sourceLocation: sourceLocation)
        #expect(alone.error?.code == code, sourceLocation: sourceLocation)
        #expect(alone.error?.byteOffset == UInt64(offset), sourceLocation: sourceLocation)
        #expect(alone.offset == UInt64(offset), sourceLocation: sourceLocation)

        let good = Streams.good
        let after = transcript(ofEverySplitOf: good + bytes, limits: limits, sourceLocation: sourceLocation)
        #expect(after.messages == Transcript(of: good).messages, sourceLocation: sourceLocation)
        #expect(after.messages.count == 1, sourceLocation: sourceLocation)
        #expect(after.error?.code == code, sourceLocation: sourceLocation)
        #expect(after.error?.byteOffset == UInt64(good.count + offset), sourceLocation: sourceLocation)
        #expect(after.error?.detail == alone.error?.detail, sourceLocation: sourceLocation)
    }
}

/// Streams as peers write them.
enum Streams {
    /// One small good message.
    static var good: [UInt8] { Array(text(replacing: nil, with: nil).utf8) }

    /// The good message with a field's line replaced by another, or left out, or with a line added before the blank one.
    static func text(replacing name: String?, with line: String?) -> String {
        var lines = ["Content-Length: 4", "Buffer-Width: 562", "Buffer-Height: 1218", "Buffer-Orientation: 1"]
        if let name, let index = lines.firstIndex(where: { $0.hasPrefix(name + ":") }) {
            if let line { lines[index] = line } else { lines.remove(at: index) }
        } else if let line {
            lines.append(line)
        }
        return header(lines) + "BODY"
    }

    static func header(_ lines: [String], start: String = "HTTP/1.1 200 OK") -> String {
        start + "\r\n" + lines.map { $0 + "\r\n" }.joined() + "\r\n"
    }
}
