import Foundation
import FrameWire
import TestDescriptions
import Testing

@Suite("Error descriptions", .tags(.computes))
struct WireErrorTests {
    @Test func `the sentence has the explanation, the byte, the detail and the code`() {
        let error = WireError(code: .bodyTruncated, byteOffset: 7, detail: "3 of 4 bytes")
        #expect("\(error)" == "Stream ended within a body: 3 of 4 bytes (at byte 7)")
        let other = WireError(code: .init(rawValue: "control.unknown"), byteOffset: 0, detail: "x")
        #expect("\(other)" == "Invalid stream: x (at byte 0)")
    }

    @Test func `every code has its own text and explanation, and is in the table of errors`() throws {
        let codes: [WireError.Code] = [
            .startLineMalformed, .requestLineMalformed, .headTooLong, .headTooManyFields, .headTruncated,
            .lineMalformed, .fieldDuplicate, .fieldUnsupported, .fieldMissing, .numberInvalid, .numberOutOfRange,
            .wordInvalid, .wordUnknown, .contentLengthTooLarge, .contentLengthInvalid, .pixelsTooMany, .infoInvalid,
            .bodyTruncated,
        ]
        #expect(Set(codes.map(\.rawValue)).count == codes.count)
        let sentences = Set(
            codes.map { "\(WireError(code: $0, byteOffset: 0, detail: ""))".split(separator: ": ")[0] }
        )
        #expect(sentences.count == codes.count && !sentences.contains("Invalid stream"))

        let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..")
        let document = try String(contentsOf: root.appending(path: "docs/wire-format.md"), encoding: .utf8)
        for code in codes { #expect(document.contains("| `\(code)` |"), "docs/wire-format.md has every code") }
        let rows = document.matches(of: #/(?m)^\| `[a-zA-Z]+\.[a-zA-Z]+` \|/#).count
        #expect(rows == codes.count, "docs/wire-format.md has no other code")
    }
}
