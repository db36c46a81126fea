import FrameWire
import TestDescriptions
import Testing

@Suite("Numbers and words", .tags(.computes))
struct ValueTests {
    /// The numbers that each field may have.
    private static let ranges: [(name: String, low: UInt64, high: UInt64)] = [
        ("Buffer-Width", 1, 16_384), ("Buffer-Height", 1, 16_384), ("Buffer-Orientation", 0, 8),
        ("Buffer-Presentation-Time", 0, .max), ("Buffer-Sequence", 0, .max), ("Audio-Sample-Rate", 8_000, 192_000),
        ("Audio-Channels", 1, 8), ("Finish-Reason", 10_001, 10_010), ("Control-Version", 1, 9_999),
        ("Pong-Number", 0, .max), ("Refused-Preferences", 0, .max), ("Shared-Buffer", 0, 7),
        ("Shared-Bytes", 1, 1 << 30), ("Shared-Offset", 0, 1 << 30), ("Shared-Offset-2", 0, 1 << 30),
        ("Shared-Offset-3", 0, 1 << 30), ("Shared-Stride", 1, 1 << 30), ("Shared-Stride-2", 1, 1 << 30),
        ("Shared-Stride-3", 1, 1 << 30), ("Changed-Row", 0, 65_535), ("Changed-Rows", 0, 65_535),
        ("Frame-Rate", 1, 1_000_000), ("Offers-Audio", 0, 1), ("Wants-Pictures", 0, 1), ("Wants-Audio", 0, 1),
        ("Wants-Info", 0, 1), ("Shared-Memory", 1, 9_999),
        ("Prefer-Frame-Rate", 1, 1_000_000), ("Prefer-Width", 1, 16_384), ("Prefer-Height", 1, 16_384),
        ("Prefer-Quality", 1, 100), ("Prefer-Byte-Rate", 1, 9_999_999_999), ("Ping-Number", 0, .max),
    ]

    /// A field in a message or request that has it.
    struct Field: Sendable, CustomTestStringConvertible {
        let sample: Sample
        let name: String

        var testDescription: String { "\(name) of \(sample.kind)" }

        func text(_ value: String) -> String { sample.text(sample.lines.replacing(name, with: "\(name): \(value)")) }

        /// A value that is wrong at its mark.
        func check(_ code: WireError.Code, _ value: String, sourceLocation: SourceLocation = #_sourceLocation) {
            let wireCase = WireCase(code, sample.kind, stream: text(value))
            if sample.kind == .messages || name == "Content-Length" {
                wireCase.check(isSplit: name == "Content-Length", sourceLocation: sourceLocation)
            } else {
                wireCase.checkIsSkipped(name: sample.name, isSplit: false, sourceLocation: sourceLocation)
            }
        }
    }

    /// Every field in every direction in which it occurs, with the numbers that it may have.
    private static var numbers: [(field: Field, low: UInt64, high: UInt64)] {
        ranges.flatMap { range in
            Transcript.Kind.allCases.compactMap { kind in
                let samples = Sample.all.filter { $0.kind == kind }
                return samples.last { $0.lines.contains { $0.hasPrefix(range.name + ":") } }.map {
                    (Field(sample: $0, name: range.name), range.low, range.high)
                }
            }
        }
    }

    @Test func `every field with a number is tested`() {
        let names = Set(Sample.all.flatMap(\.lines).map { String($0.prefix { $0 != ":" }) })
        let words = ["Message-Type", "Audio-Kind", "Sender-State", "Shared-Format"]
        #expect(names.subtracting(words).subtracting(["Content-Length"]) == Set(Self.ranges.map(\.name)))
    }

    /// Shows P34.
    @Test(arguments: numbers) func `a number is accepted within its range, and refused at the byte that exceeds it`(
        field: Field,
        low: UInt64,
        high: UInt64
    ) {
        for value in [low, high] {
            let result = transcript(ofEverySplitOf: field.text("\(value)").bytes, field.sample.kind)
            #expect(result.error == nil && result.entries.count == 1)
            if case .skipped = result.items.first { Issue.record("\(value) is skipped") }
        }
        if low > 0 {
            field.check(.numberOutOfRange, "\(low - 1)¦")
            field.check(.numberOutOfRange, "\(low - 1)¦ ")
        }
        let over = high == .max ? "18446744073709551616" : "\(high + 1)"
        for digits in [over, "99999999999999999999" + String(repeating: "9", count: 400)] {
            let prefixes = (1...digits.count).map { String(digits.prefix($0)) }
            let fitting = prefixes.last { UInt64($0).map { $0 <= high } ?? false } ?? ""
            field.check(.numberOutOfRange, fitting + "¦" + digits.dropFirst(fitting.count))
        }
    }

    @Test(arguments: numbers.map(\.field)) func `only plain decimal numbers are accepted`(field: Field) {
        for value in [
            "¦", "  \t¦", "0¦0", "0¦1", "¦-1", "¦+1", "¦x", "¦\u{D9}\u{A4}", "¦\u{B2}", "¦\"1\"", "¦:", "¦/",
        ] {
            field.check(.numberInvalid, value)
        }
    }

    @Test(
        arguments: [
            "4¦,5", "4¦, 4", "0¦x4", "0¦_4", "4¦Z", "4¦.0", "4 ¦4", "4\t¦4", "4¦e0", "12345678¦/", "1234567¦:", "¦",
            " \t¦", "0¦4", "0¦00000000000000000000004", "¦four", "¦-1",
        ]
    )
    func `a length must be one plain number, in a request too`(value: String) {
        Field(sample: Sample.all[0], name: "Content-Length").check(.numberInvalid, value)
        // A request's length has at most four digits.
        guard !value.hasPrefix("1234") else { return }
        Field(sample: Sample.requests[3], name: "Content-Length").check(.numberInvalid, value)
        WireCase(.numberInvalid, .requests, stream: "POST /nope HTTP/1.1\r\nContent-Length: \(value)\r\n\r\n").check()
    }

    @Test(arguments: [0, 1, 9, 10, 12_345_678, 123_456_789, 1_234_567_890_123_456_789, 10_000_000_000_000_000_000])
    func `numbers of every length come out as written`(number: UInt64) {
        let lines = Streams.lines(.messages) + ["Buffer-Sequence: \(number)", "Buffer-Presentation-Time: \(number)"]
        let result = transcript(ofEverySplitOf: (Streams.header(lines) + "BODY").bytes)
        #expect(result.error == nil && result.entries.first?.header?.sequence == number)
        #expect(result.entries.first?.header?.timestamp == number)
    }

    @Test(
        arguments: [
            ("Audio-Kind", .wordUnknown, "music¦"), ("Audio-Kind", .wordUnknown, "App¦ "),
            ("Audio-Kind", .wordInvalid, "¦"), ("Audio-Kind", .wordInvalid, "app ¦app"),
            ("Audio-Kind", .wordInvalid, "¦\"app\""), ("Audio-Kind", .lineMalformed, "ap¦\u{0}"),
            ("Sender-State", .wordUnknown, "gone¦"), ("Sender-State", .wordInvalid, "live¦;"),
            ("Shared-Format", .wordUnknown, "yuv420¦"), ("Shared-Format", .wordUnknown, "I420¦"),
            ("Shared-Format", .wordInvalid, String(repeating: "b", count: 32) + "¦b"),
            ("Message-Type", .wordInvalid, "¦"), ("Message-Type", .wordInvalid, "audio¦,status"),
            ("Message-Type", .wordInvalid, String(repeating: "a", count: 32) + "¦a"),
        ] as [(String, WireError.Code, String)]
    )
    func `a field that has a word has one that it may have`(name: String, code: WireError.Code, value: String) throws {
        let sample = try #require(Sample.all.last { $0.lines.contains { $0.hasPrefix(name + ":") } })
        let text = sample.text(sample.lines.replacing(name, with: "\(name): \(value.replacing("¦ ", with: " ¦"))"))
        WireCase(code, stream: text).check()
    }

    @Test(arguments: PixelFormat.allCases)
    func `positions of planes that a format does not have are ignored`(format: PixelFormat) throws {
        let full = Sample.fullSharedFrame
        let lines = full.lines.replacing("Shared-Format", with: "Shared-Format: \(format.rawValue)")
        guard case .message(.sharedFrame(var expected)) = full.item else { return }
        expected.format = format
        expected.planes = Array(expected.planes.prefix(format.planeCount))
        #expect(Transcript(of: full.text(lines).bytes).items == [.message(.sharedFrame(expected))])
        // Their values must still be valid ones.
        let wrong = lines.replacing("Shared-Stride-3", with: "Shared-Stride-3: 0¦")
        WireCase(.numberOutOfRange, stream: full.text(wrong)).check()
    }

    @Test(
        arguments: [
            (.contentLengthInvalid, 0, 2), (.contentLengthInvalid, 1, 1), (.contentLengthInvalid, 6, 2),
            (.contentLengthInvalid, 14, 8), (.contentLengthTooLarge, (256 << 10) + 2, 1),
        ] as [(WireError.Code, Int, Int)]
    )
    func `an impossible length of audio is refused at the header's end`(
        code: WireError.Code,
        length: Int,
        channels: Int
    ) {
        let header = AudioHeader(contentLength: length, kind: .app, sampleRate: 8_000, channels: channels).encoded()
        let wireCase = WireCase(code, stream: String(decoding: header, as: UTF8.self).markedAtEnd)
        wireCase.check()
        #expect(Transcript(of: header).error?.detail == "\(length)")
    }
}
