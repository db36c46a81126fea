import FrameWire
import TestDescriptions
import Testing

@Suite("Numbers in fields", .tags(.computes))
struct NumberTests {
    private static func length(_ code: WireError.Code, _ value: String) -> WireCase {
        WireCase(code, "Content-Length:" + value, insteadOf: "Content-Length")
    }

    @Test(
        arguments: [
            WireCase(.fieldDuplicate, "Content-Length¦: 4"),
            WireCase(.fieldDuplicate, "Content-Length¦: 5"),
            WireCase(.fieldDuplicate, "content-length¦:4"),
            length(.numberInvalid, " 4¦, 4"),
            length(.numberInvalid, " 4¦,5"),
        ]
    )
    func `a second length, or a list of lengths, is an error`(_ wireCase: WireCase) { wireCase.check() }

    @Test(
        arguments: [
            length(.numberInvalid, " ¦-1"), length(.numberInvalid, " ¦+4"), length(.numberInvalid, " 0¦x4"),
            length(.numberInvalid, " 0¦_4"), length(.numberInvalid, " 4¦Z"), length(.numberInvalid, " 4¦.0"),
            length(.numberInvalid, " 4 ¦4"), length(.numberInvalid, " 4\t¦4"), length(.numberInvalid, " ¦four"),
            length(.numberInvalid, " ¦\u{D9}\u{A4}"), length(.numberInvalid, " ¦\u{B2}"),
            length(.numberInvalid, " 4¦e0"),
            length(.numberInvalid, " 12345678¦/"), length(.numberInvalid, " 1234567¦:"),
            length(.numberInvalid, " ¦\"4\""),
            WireCase(.numberInvalid, "Buffer-Width: ¦-562", insteadOf: "Buffer-Width"),
            WireCase(.numberInvalid, "Buffer-Height: 12¦.5", insteadOf: "Buffer-Height"),
            WireCase(.numberInvalid, "Buffer-Orientation: ¦up", insteadOf: "Buffer-Orientation"),
            WireCase(.numberInvalid, "Buffer-Sequence: ¦-1"),
            WireCase(.numberInvalid, "Buffer-Presentation-Time: 1¦.5"),
        ]
    )
    func `only plain decimal numbers are accepted`(_ wireCase: WireCase) { wireCase.check() }

    @Test(
        arguments: [
            length(.numberEmpty, "¦"), length(.numberEmpty, "  \t¦"), length(.numberLeadingZero, " 0¦4"),
            length(.numberLeadingZero, " 0¦0"), length(.numberLeadingZero, " 0¦00000000000000000000004"),
            WireCase(.numberLeadingZero, "Buffer-Width: 0¦1", insteadOf: "Buffer-Width"),
            WireCase(.numberLeadingZero, "Buffer-Orientation: 0¦1", insteadOf: "Buffer-Orientation"),
            WireCase(.numberEmpty, "Buffer-Height:¦", insteadOf: "Buffer-Height"),
            WireCase(.numberLeadingZero, "Buffer-Sequence: 0¦1"),
            WireCase(.numberEmpty, "Buffer-Sequence:¦"),
        ]
    )
    func `an empty number, or one with a leading zero, is an error`(_ wireCase: WireCase) { wireCase.check() }

    @Test(
        arguments: [
            length(.contentLengthTooLarge, " 9223372¦036854775808"),
            length(.contentLengthTooLarge, " 18446744¦073709551616"),
            length(.contentLengthTooLarge, " 9999999¦9" + String(repeating: "9", count: 392)),
            WireCase(.dimensionTooLarge, "Buffer-Width: 1844¦6744073709551616", insteadOf: "Buffer-Width"),
            WireCase(.numberOverflow, "Buffer-Sequence: 1844674407370955161¦6"),
            WireCase(.numberOverflow, "Buffer-Presentation-Time: 9999999999999999999¦9"),
            WireCase(.numberOverflow, "Buffer-Sequence: 10000000000000000000¦" + String(repeating: "0", count: 400)),
        ]
    )
    func `numbers far beyond every integer are errors`(_ wireCase: WireCase) { wireCase.check() }

    @Test func `a number has at most 10 digits even if the user sets no limits`() {
        var limits = FrameMessageDecoder.Limits()
        limits.maximumContentLength = .max
        limits.maximumDimension = .max
        limits.maximumPixels = .max
        Self.length(.contentLengthTooLarge, " 9999999999¦0").check(limits: limits)
        WireCase(.dimensionTooLarge, "Buffer-Width: 1000000000¦0", insteadOf: "Buffer-Width").check(limits: limits)
        let text = Streams.text(replacing: "Content-Length", with: "Content-Length: 9999999999")
        let result = transcript(ofEverySplitOf: Array(text.utf8), limits: limits)
        #expect(result.messages.first?.header?.contentLength == 9_999_999_999)
        #expect(result.error?.code == .bodyTruncated)
    }

    @Test(
        arguments: [
            WireCase(.dimensionZero, "Buffer-Width: 0¦", insteadOf: "Buffer-Width"),
            WireCase(.dimensionZero, "Buffer-Height: 0¦ ", insteadOf: "Buffer-Height"),
            WireCase(.dimensionTooLarge, "Buffer-Width: 6553¦6", insteadOf: "Buffer-Width"),
            WireCase(.dimensionTooLarge, "Buffer-Height: 6553¦6", insteadOf: "Buffer-Height"),
            WireCase(.orientationOutOfRange, "Buffer-Orientation: ¦9", insteadOf: "Buffer-Orientation"),
            WireCase(.orientationOutOfRange, "Buffer-Orientation: 1¦0", insteadOf: "Buffer-Orientation"),
        ]
    )
    func `sizes and orientations out of range are errors`(_ wireCase: WireCase) { wireCase.check() }

    @Test(arguments: FrameOrientation.allCases)
    func `every orientation from 0 to 8 is accepted`(orientation: FrameOrientation) {
        let line = "Buffer-Orientation: \(orientation.rawValue)"
        let result = transcript(ofEverySplitOf: Array(Streams.text(replacing: "Buffer-Orientation", with: line).utf8))
        #expect(result.error == nil)
        #expect(result.messages.map(\.header?.orientation) == [orientation])
    }

    @Test(
        arguments: [
            WireCase(.fieldDuplicate, "Buffer-Width¦: 562"), WireCase(.fieldDuplicate, "BUFFER-WIDTH¦: 1"),
            WireCase(.fieldDuplicate, "buffer-height¦: 1218"), WireCase(.fieldDuplicate, "Buffer-Orientation¦: 1"),
            WireCase(.fieldDuplicate, "Buffer-Sequence: 1\r\nbuffer-sequence¦: 1"),
            WireCase(.fieldDuplicate, "Buffer-Presentation-Time: 1\r\nBuffer-Presentation-Time¦: 1"),
        ]
    )
    func `a known field that occurs twice, in any case, is an error`(_ wireCase: WireCase) { wireCase.check() }

    @Test(
        arguments: [0, 1, 9, 10, 12_345_678, 123_456_789, 1_234_567_890_123_456_789, 9_999_999_999_999_999_999, .max]
    )
    func `numbers of every length come out as written`(number: UInt64) {
        let lines = "Buffer-Sequence: \(number)\r\nBuffer-Presentation-Time: \(number)"
        let result = transcript(ofEverySplitOf: Array(Streams.text(replacing: nil, with: lines).utf8))
        #expect(result.error == nil)
        #expect(result.messages.map(\.header?.sequence) == [number])
        #expect(result.messages.map(\.header?.timestamp) == [number])
    }
}
