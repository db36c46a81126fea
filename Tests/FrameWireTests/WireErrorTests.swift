import Foundation
import FrameWire
import TestDescriptions
import Testing

@Suite("Error descriptions", .tags(.computes))
struct WireErrorTests {
    @Test(
        arguments: [
            ("Content-Length: 4Z", "\"Content-Length: 4Z\""),
            ("content-length:\t4\u{85}", "\"content-length:\\t4\\x85\""),
            ("X\"\\\u{07}", "\"X\\\"\""),
            ("X: \"\\\u{07}", "\"X: \\\"\\\\\\x07\""),
            ("X: y\rz", "\"X: y\\rz\""),
        ]
    )
    func `the detail shows the line up to the wrong byte, printable`(line: String, detail: String) {
        let stream = "HTTP/1.1 200 OK\r\n" + line
        let bytes = stream.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) }
        #expect(transcript(ofEverySplitOf: bytes).error?.detail == detail)
    }

    @Test func `a long line is shortened, a hostile one still printable`() {
        let stream = Array("HTTP/1.1 200 OK\r\nX:".utf8) + [UInt8](repeating: 0x80, count: 500) + [0]
        let error = transcript(ofEverySplitOf: stream).error
        #expect(error?.code == .fieldInvalidValue)
        let kept = String(repeating: "\\x80", count: 62)
        #expect(error?.detail == "\"X:" + kept + "...\\x00\"")
    }

    @Test func `the sentence has the explanation, the byte, the detail and the code`() {
        let error = WireError(code: .bodyTruncated, byteOffset: 7, detail: "3 of 4 bytes")
        #expect("\(error)" == "Stream ended within a body: 3 of 4 bytes (at byte 7)")
        let other = WireError(code: .init(rawValue: "control.unknown"), byteOffset: 0, detail: "x")
        #expect("\(other)" == "Invalid stream: x (at byte 0)")
    }

    @Test func `every code has its own text and explanation`() throws {
        let codes: [WireError.Code] = [
            .startLineMalformed, .startLineVersion, .startLineStatus, .startLineReason, .headTooLong,
            .headTooManyFields,
            .headTruncated, .lineBareLineFeed, .lineBareCarriageReturn, .fieldFolded, .fieldEmptyName,
            .fieldInvalidName,
            .fieldSpaceBeforeColon, .fieldNoColon, .fieldInvalidValue, .fieldDuplicate, .fieldUnsupported,
            .fieldMissing,
            .numberEmpty, .numberInvalid, .numberLeadingZero, .numberOverflow, .contentLengthTooLarge, .dimensionZero,
            .dimensionTooLarge, .pixelsTooMany, .orientationOutOfRange, .bodyTruncated,
            .requestLineMethod, .requestLineTarget, .requestLineVersion, .numberOutOfRange, .wordEmpty, .wordInvalid,
            .wordTooLong, .wordUnknown, .contentLengthInvalid, .finishReasonUnknown,
        ]
        #expect(Set(codes.map(\.rawValue)).count == codes.count)
        let sentences = Set(
            codes.map { "\(WireError(code: $0, byteOffset: 0, detail: ""))".split(separator: ": ")[0] }
        )
        #expect(sentences.count == codes.count)
        #expect(!sentences.contains("Invalid stream"))

        let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..")
        let document = try String(contentsOf: root.appending(path: "docs/wire-format.md"), encoding: .utf8)
        for code in codes { #expect(document.contains("| `\(code)` |"), "docs/wire-format.md has every code") }
    }
}
