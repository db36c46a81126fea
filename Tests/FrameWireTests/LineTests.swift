import FrameWire
import TestDescriptions
import Testing

@Suite("Start lines, names, values and line ends", .tags(.computes))
struct LineTests {
    @Test(
        arguments: [
            // Other protocols.
            "¦garbage", "¦\u{EF}\u{BB}\u{BF}HTTP/1.1 200 OK", "¦\nHTTP/1.1 200 OK", "¦\r\nHTTP/1.1 200 OK",
            "¦\u{16}\u{03}\u{01}\u{02}\u{00}\u{01}", "¦\u{FF}\u{D8}\u{FF}\u{E0}", "¦\u{00}", "¦GET / HTTP/1.1",
            "¦PRI * HTTP/2.0", "¦POST /pause HTTP/1.1", "H¦EAD / HTTP/1.1", "H¦tTP/1.1 200 OK", "¦http/1.1 200 OK",
            "HTTP¦ /1.1 200 OK",
            // Other versions.
            "HTTP/¦2.0 200 OK", "HTTP/1.¦2 200 OK", "HTTP/1.1¦1 200 OK", "HTTP/1¦ 200 OK", "HTTP/1.1¦\t200 OK",
            // Another status, or none.
            "HTTP/1.1 ¦404 Not Found", "HTTP/1.1 ¦100 Continue", "HTTP/1.1 20¦4 No Content", "HTTP/1.1 200¦0 OK",
            "HTTP/1.1 ¦ 200 OK", "HTTP/1.1 200¦\tOK", "HTTP/1.1¦", "HTTP/1.1 20¦",
            // A reason that is not printable, or begins with a second space.
            "HTTP/1.1 200 ¦ OK", "HTTP/1.1 200 O¦\tK", "HTTP/1.1 200 O¦\u{00}K", "HTTP/1.1 200 O¦\u{7F}K",
            "HTTP/1.1 200 O¦\u{E9}K",
            // Another end.
            "HTTP/1.1 200¦\n", "HTTP/1.1 200 OK¦\n", "HTTP/1.1 200 OK\r¦\r",
        ]
    )
    func `a start line that is no message's is refused at its first wrong byte`(line: String) {
        WireCase(.startLineMalformed, stream: Streams.header(Streams.lines(.messages), start: line)).check()
    }

    @Test(
        arguments: [
            "HTTP/1.0 200 OK", "HTTP/1.1 200 ", "HTTP/1.1 200", "HTTP/1.1 200 Fine by me: ~!", "HTTP/1.0 200",
            "HTTP/1.1 200 OKAY", "HTTP/1.1 200 OK ",
        ]
    )
    func `version 1.0, and any reason phrase, are accepted`(line: String) {
        let text = Streams.header(Streams.lines(.messages), start: line) + "BODY"
        let result = transcript(ofEverySplitOf: text.bytes)
        #expect(result.error == nil && result.items == [Streams.item(.messages)])
    }

    @Test(
        arguments: [
            "¦GET /pause HTTP/1.1", "¦\r\nPOST /pause HTTP/1.1", "¦HTTP/1.1 200 OK", "¦\u{0}",
            "P¦ost /pause HTTP/1.1", "POST¦\t/pause HTTP/1.1", "POST ¦ /pause HTTP/1.1", "POST ¦pause HTTP/1.1",
            "POST /pau¦\tse HTTP/1.1", "POST /pause¦", "POST /¦\n", "POST /caf¦\u{E9} HTTP/1.1",
            "POST /x¦\u{7F} HTTP/1.1", "POST /pause ¦ HTTP/1.1", "POST /pause HTTP/¦2.0", "POST /pause HTTP/1.¦0",
            "POST /pause HTTP/1.1¦ ", "POST /pause HTTP/1¦", "POST /pause ¦http/1.1", "POST /pause HTTP/1.1¦\n",
            "POST /pause HTTP/1.1\r¦X",
        ]
    )
    func `a start line that is no request's is refused at its first wrong byte`(line: String) {
        WireCase(.requestLineMalformed, .requests, stream: Streams.header(["Content-Length: 0"], start: line)).check()
    }

    @Test(arguments: Transcript.Kind.allCases)
    func `a line is a name, a colon, a value and CR LF, or is refused at its first wrong byte`(
        kind: Transcript.Kind
    ) {
        for line in [
            // Line ends.
            "X-Other: a¦\n", "X-Other:¦\n", "¦\n", "X-Other: a\r¦b", "X-Other: a\r¦\r", "\r¦\r", "\r¦X: y",
            // Folded lines, and space before a name.
            "X-Other: a\r\n¦ b", "X-Other: a\r\n¦\tb", "¦ X: 4", "¦\tX: 4",
            // Names.
            "X-Other¦ : 4", "X-Other¦\t: 4", "no¦ colon here", "nocolon¦", "nocolon¦\n", "¦: 4", "X-¦\u{0}: 1",
            "¦\u{0}X: 1", "X¦\u{85}: y", "Content¦\rLength: 4", "Content-Length¦ : 4", "Shared-Offset-¦\u{12}: 1",
            // Values.
            "X-Other: a¦\u{0}b", "X: ¦\u{7}", "X: y¦\u{7F}",
        ] {
            WireCase(.lineMalformed, kind, line: line).check()
        }
    }

    @Test(
        arguments: [
            ("Buffer-Width", "Buffer-Width: 5¦\u{0}"), ("Buffer-Width", "Buffer-Width: ¦\u{0}5"),
            ("Buffer-Width", "Buffer-Width: 562¦\nX: y"), ("Content-Length", "Content-Length: 4\r¦\r"),
            ("Content-Length", "¦ Content-Length: 4"), ("Content-Length", "Content-Length¦ : 4"),
        ]
    )
    func `a known field is a line like any other`(name: String, line: String) {
        WireCase(.lineMalformed, line, insteadOf: name).check()
    }

    // A number that is already wrong does not make the bytes behind it right.
    @Test(arguments: ["Ping-Number: 1¦\u{0}", "Ping-Number: x¦\u{0}", "Ping-Number: x\r¦y", "Ping-Number: 8 x¦\n"])
    func `a malformed line is an error even if its request would be skipped`(line: String) {
        let text = Streams.header(["Content-Length: 0", line], start: Streams.start(.requests))
        WireCase(.lineMalformed, .requests, stream: text).check()
    }

    @Test(arguments: 0...255)
    func `every byte that a name may not have is refused, at its first place and its second`(value: Int) {
        let byte = UInt8(value)
        let allowed = "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
        if allowed.utf8.contains(byte) {
            let result = Transcript(of: Self.stream(line: [byte, byte] + Array(": x".utf8)))
            #expect(result.error == nil && result.entries.count == 1)
            return
        }
        // A colon ends the name, and a carriage return at the beginning the header.
        guard byte != 0x3A, byte != 0x0D else { return }
        for place in 0...1 {
            let line = Array("X".utf8.prefix(place)) + [byte] + Array("X: y".utf8)
            let result = Transcript(of: Self.stream(line: line))
            #expect(result.error?.code == .lineMalformed)
            #expect(result.error?.byteOffset == UInt64(Self.lineOffset + place))
        }
    }

    @Test(arguments: 0...255) func `every byte but control bytes may be in a value`(value: Int) {
        let byte = UInt8(value)
        let result = Transcript(of: Self.stream(line: Array("X: a".utf8) + [byte] + Array("b".utf8)))
        if byte == 0x09 || (byte >= 0x20 && byte != 0x7F) {
            #expect(result.error == nil && result.entries.count == 1)
        } else {
            // A carriage return ends the value, and the byte behind it is wrong.
            #expect(result.error?.code == .lineMalformed)
            #expect(result.error?.byteOffset == UInt64(Self.lineOffset + (byte == 0x0D ? 5 : 4)))
        }
    }

    @Test(arguments: Transcript.Kind.allCases)
    func `Transfer-Encoding, which would frame the body otherwise, is refused`(
        kind: Transcript.Kind
    ) {
        WireCase(.fieldUnsupported, kind, line: "Transfer-Encoding¦: chunked").check()
        WireCase(.fieldUnsupported, kind, line: "transfer-encoding¦:identity").check()
    }

    @Test func `a request of an unknown name has fields that frame it`() {
        let start = "POST /nope HTTP/1.1"
        for (code, lines) in [
            (.fieldDuplicate, ["Content-Length: 0", "content-length¦: 4"]),
            (.fieldUnsupported, ["Content-Length: 0", "Transfer-Encoding¦: chunked"]),
            (.contentLengthTooLarge, ["Content-Length: 409¦7"]),
        ] as [(WireError.Code, [String])] {
            WireCase(code, .requests, stream: Streams.header(lines, start: start)).check()
        }
        WireCase(.fieldMissing, .requests, stream: Streams.header(["X: y"], start: start).markedAtEnd).check()
    }

    @Test(
        arguments: [
            ("Content-Length: 4Z", "\"Content-Length: 4Z\""),
            ("content-length:\t4\u{85}", "\"content-length:\\t4\\x85\""),
            ("X\"\\\u{07}: y", "\"X\\\"\""),
            ("X: \"\\\u{07}", "\"X: \\\"\\\\\\x07\""),
            ("X: y\rz", "\"X: y\\rz\""),
            (
                "X:" + String(repeating: "\u{80}", count: 500) + "\u{0}",
                "\"X:" + String(repeating: "\\x80", count: 62) + "...\\x00\""
            ),
        ]
    )
    func `the detail shows the line up to the wrong byte, shortened and printable`(line: String, detail: String) {
        let stream = "HTTP/1.1 200 OK\r\n" + line + "\r\n"
        #expect(transcript(ofEverySplitOf: stream.bytes).error?.detail == detail)
    }

    /// Where an added line begins in the stream.
    private static var lineOffset: Int { Streams.good().count - 4 - 2 }

    private static func stream(line: [UInt8]) -> [UInt8] {
        Array(Streams.good().prefix(lineOffset)) + line + Array("\r\n\r\nBODY".utf8)
    }
}
