import FrameWire
import TestDescriptions
import Testing

@Suite("Field syntax", .tags(.computes))
struct FieldSyntaxTests {
    @Test(
        arguments: [
            WireCase(.fieldInvalidName, "X-¦\u{00}: 1"),
            WireCase(.fieldInvalidName, "¦\u{00}X: 1"),
            WireCase(.fieldInvalidValue, "X-Other: a¦\u{00}b"),
            WireCase(.fieldInvalidValue, "Buffer-Width: 5¦\u{00}", insteadOf: "Buffer-Width"),
            WireCase(.fieldInvalidValue, "Buffer-Width: ¦\u{00}5", insteadOf: "Buffer-Width"),
        ]
    )
    func `a NUL is refused anywhere in a header`(_ wireCase: WireCase) { wireCase.check() }

    @Test(
        arguments: [
            WireCase(.lineBareLineFeed, "X-Other: a¦\n"),
            WireCase(.lineBareLineFeed, "X-Other:¦\n"),
            WireCase(.lineBareLineFeed, "¦\n"),
            WireCase(.lineBareLineFeed, "Buffer-Width: 562¦\nX: y", insteadOf: "Buffer-Width"),
            WireCase(.lineBareCarriageReturn, "X-Other: a\r¦b"),
            WireCase(.lineBareCarriageReturn, "X-Other: a\r¦\r"),
            WireCase(.lineBareCarriageReturn, "Content-Length: 4\r¦\r", insteadOf: "Content-Length"),
            WireCase(.lineBareCarriageReturn, "\r¦\r"),
            WireCase(.lineBareCarriageReturn, "\r¦X: y"),
        ]
    )
    func `line ends that are not CR LF are refused`(_ wireCase: WireCase) { wireCase.check() }

    @Test(
        arguments: [
            WireCase(.fieldFolded, "X-Other: a\r\n¦ b"),
            WireCase(.fieldFolded, "X-Other: a\r\n¦\tb"),
            WireCase(.fieldFolded, "¦ Content-Length: 4", insteadOf: "Content-Length"),
            WireCase(.fieldFolded, "¦\tContent-Length: 4", insteadOf: "Content-Length"),
        ]
    )
    func `folded lines, and spaces before the first name, are refused`(_ wireCase: WireCase) { wireCase.check() }

    @Test(
        arguments: [
            WireCase(.fieldSpaceBeforeColon, "Content-Length¦ : 4", insteadOf: "Content-Length"),
            WireCase(.fieldSpaceBeforeColon, "Content-Length¦\t: 4", insteadOf: "Content-Length"),
            WireCase(.fieldSpaceBeforeColon, "no¦ colon here"),
            WireCase(.fieldNoColon, "nocolon¦"),
            WireCase(.fieldNoColon, "nocolon¦\n"),
            WireCase(.fieldEmptyName, "¦: 4"),
        ]
    )
    func `a space before the colon, no colon and no name are refused`(_ wireCase: WireCase) { wireCase.check() }

    @Test(arguments: 0...255)
    func `every byte that a name may not have is refused, at its first place and its second`(value: Int) {
        let byte = UInt8(value)
        let visible = "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
        if visible.utf8.contains(byte) {
            let result = Transcript(of: Self.stream(line: [byte, byte] + Array(": x".utf8)))
            #expect(result.error == nil && result.messages.count == 1)
            return
        }
        // Colon, white space and line ends have errors of their own, above.
        guard ![0x3A, 0x20, 0x09, 0x0D, 0x0A].contains(byte) else { return }
        for place in 0...1 {
            let line = Array("X".utf8.prefix(place)) + [byte] + Array("X: y".utf8)
            let result = Transcript(of: Self.stream(line: line))
            #expect(result.error?.code == .fieldInvalidName)
            #expect(result.error?.byteOffset == UInt64(Self.lineOffset + place))
        }
    }

    @Test(arguments: 0...255)
    func `every byte that a value may not have is refused, and every other one is accepted`(value: Int) {
        let byte = UInt8(value)
        guard byte != 0x0D else { return }
        let result = Transcript(of: Self.stream(line: Array("X: a".utf8) + [byte] + Array("b".utf8)))
        if byte == 0x09 || (byte >= 0x20 && byte != 0x7F) {
            #expect(result.error == nil && result.messages.count == 1)
        } else {
            #expect(result.error?.code == (byte == 0x0A ? .lineBareLineFeed : .fieldInvalidValue))
            #expect(result.error?.byteOffset == UInt64(Self.lineOffset + 4))
        }
    }

    @Test(
        arguments: [
            ["content-length: 4", "buffer-width: 562", "buffer-height: 1218", "buffer-orientation: 1"],
            ["CONTENT-LENGTH: 4", "BUFFER-WIDTH: 562", "BUFFER-HEIGHT: 1218", "BUFFER-ORIENTATION: 1"],
            ["Content-Length:4", "Buffer-Width:562", "Buffer-Height:1218", "Buffer-Orientation:1"],
            ["Content-Length: \t 4 \t", "Buffer-Width:  562", "Buffer-Height: 1218 ", "Buffer-Orientation:\t1\t"],
            ["Buffer-Orientation: 1", "Buffer-Height: 1218", "Content-Length: 4", "Buffer-Width: 562"],
            ["Buffer-Width: 562", "Content-Length: 4", "Buffer-Orientation: 1", "Buffer-Height: 1218"],
            [
                "Server: \u{FF}?", "Buffer-Width: 562", "X:", "Content-Length: 4", "Content-Type: image/jpeg",
                "Buffer-Orientation: 1", "Buffer-Height: 1218", "X:", "Content-Lengthy: 9", "Content-Lengt: 8",
                "Buffer-Widths: 0", "buffer_width: 7", String(repeating: "n", count: 200) + ": 5",
            ],
        ]
    )
    func `any case, order and optional white space, and unknown fields, are accepted`(lines: [String]) {
        let text = Streams.header(lines) + "BODY"
        let result = transcript(ofEverySplitOf: text.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) })
        #expect(result.error == nil)
        #expect(result.messages == Transcript(of: Streams.good).messages)
        #expect(result.messages.count == 1)
    }

    @Test func `Transfer-Encoding, which would frame the body otherwise, is refused`() {
        WireCase(.fieldUnsupported, "Transfer-Encoding¦: chunked").check()
        WireCase(.fieldUnsupported, "transfer-encoding¦:identity", insteadOf: "Content-Length").check()
    }

    /// Where an added line begins in the stream.
    private static var lineOffset: Int { Streams.good.count - 4 - 2 }

    private static func stream(line: [UInt8]) -> [UInt8] {
        Array(Streams.good.prefix(lineOffset)) + line + Array("\r\n\r\nBODY".utf8)
    }
}
