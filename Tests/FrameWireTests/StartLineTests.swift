import FrameWire
import TestDescriptions
import Testing

@Suite("The start line", .tags(.computes))
struct StartLineTests {
    private static func start(_ code: WireError.Code, _ line: String) -> WireCase {
        WireCase(code, stream: Streams.text(replacing: nil, with: nil).replacing("HTTP/1.1 200 OK", with: line))
    }

    @Test(
        arguments: [
            WireCase(.startLineMalformed, stream: "¦garbage"),
            WireCase(.startLineMalformed, stream: "¦\u{EF}\u{BB}\u{BF}HTTP/1.1 200 OK\r\n"),
            WireCase(.startLineMalformed, stream: "¦\r\nHTTP/1.1 200 OK\r\n"),
            WireCase(.startLineMalformed, stream: "¦\nHTTP/1.1 200 OK\r\n"),
            WireCase(.startLineMalformed, stream: "¦\u{16}\u{03}\u{01}\u{02}\u{00}\u{01}"),
            WireCase(.startLineMalformed, stream: "¦\u{FF}\u{D8}\u{FF}\u{E0}"),
            WireCase(.startLineMalformed, stream: "¦\u{00}"),
            WireCase(.startLineMalformed, stream: "H¦tTP/1.1 200 OK\r\n"),
            WireCase(.startLineMalformed, stream: "HTTP¦ /1.1 200 OK\r\n"),
        ]
    )
    func `bytes that begin no message are an error at the first wrong one`(_ wireCase: WireCase) { wireCase.check() }

    @Test(
        arguments: [
            start(.startLineVersion, "HTTP/¦2.0 200 OK"),
            start(.startLineVersion, "HTTP/1.¦2 200 OK"),
            start(.startLineVersion, "HTTP/1.1¦1 200 OK"),
            start(.startLineVersion, "HTTP/1¦ 200 OK"),
            start(.startLineVersion, "HTTP/1.1¦\t200 OK"),
            start(.startLineMalformed, "¦http/1.1 200 OK"),
            start(.startLineMalformed, "¦PRI * HTTP/2.0"),
        ]
    )
    func `other protocols and versions are refused`(_ wireCase: WireCase) { wireCase.check() }

    @Test(
        arguments: [
            start(.startLineMalformed, "¦GET / HTTP/1.1"),
            start(.startLineMalformed, "H¦EAD / HTTP/1.1"),
        ]
    )
    func `a request in place of a response is refused`(_ wireCase: WireCase) { wireCase.check() }

    @Test(
        arguments: [
            start(.startLineStatus, "HTTP/1.1 ¦404 Not Found"),
            start(.startLineStatus, "HTTP/1.1 ¦100 Continue"),
            start(.startLineStatus, "HTTP/1.1 20¦4 No Content"),
            start(.startLineStatus, "HTTP/1.1 200¦0 OK"),
            start(.startLineStatus, "HTTP/1.1 ¦ 200 OK"),
            start(.startLineStatus, "HTTP/1.1 200¦\tOK"),
            start(.startLineReason, "HTTP/1.1 200 ¦ OK"),
            start(.startLineReason, "HTTP/1.1 200 O¦\tK"),
            start(.startLineReason, "HTTP/1.1 200 O¦\u{00}K"),
            start(.startLineReason, "HTTP/1.1 200 O¦\u{7F}K"),
            start(.startLineReason, "HTTP/1.1 200 O¦\u{E9}K"),
            start(.lineBareLineFeed, "HTTP/1.1 200¦\n"),
            start(.lineBareLineFeed, "HTTP/1.1 200 OK¦\n"),
            start(.lineBareCarriageReturn, "HTTP/1.1 200 OK\r¦\r"),
        ]
    )
    func `any status but 200, and any space but one, is refused`(_ wireCase: WireCase) { wireCase.check() }

    @Test(
        arguments: [
            "HTTP/1.0 200 OK", "HTTP/1.1 200 ", "HTTP/1.1 200", "HTTP/1.1 200 Fine by me: ~!", "HTTP/1.0 200",
            "HTTP/1.1 200 OKAY", "HTTP/1.1 200 OK ",
        ]
    )
    func `version 1.0, and any reason phrase, are accepted`(line: String) {
        let text = Streams.text(replacing: nil, with: nil).replacing("HTTP/1.1 200 OK", with: line)
        let result = transcript(ofEverySplitOf: Array(text.utf8))
        #expect(result.error == nil)
        #expect(result.messages == Transcript(of: Streams.good).messages)
    }
}
