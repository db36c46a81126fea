import TestSupport
import Testing

@testable import FrameWire

/// The parsers over tables of fields, compared with the ones before them.
@Suite struct FieldTableTests {
    private static let names =
        MessageField.allCases.map(\.definition.name) + ControlField.allCases.map(\.definition.name)
        + ["X-Other", "Buffer-Widths", "content-LENGTH", "Buffer-^idth"]

    private static let values = [
        "0", "1", "2", "8", "9", "100", "562", "1218", "16384", "16385", "44100", "48000", "262144", "262145", "10006",
        "10011", "33554432", "33554433", "9999999999", "10000000000", "18446744073709551615", "18446744073709551616",
        "007", "-1", "+4", "4, 4", "", " 5 ", "5\t", "audio", "status", "video", "app", "microphone", "live", "paused",
        "stopped", "Live", "two words", "identity", "\u{7F}", "1\r", "1\n", String(repeating: "w", count: 33),
    ]

    private static let usual: [String: [String]] = [
        "Content-Length": ["0", "4", "20"], "Buffer-Width": ["562"], "Buffer-Height": ["1218"],
        "Buffer-Orientation": ["0", "8"], "Message-Type": ["audio", "status", "other"],
        "Audio-Kind": ["app", "microphone"], "Audio-Sample-Rate": ["44100"], "Audio-Channels": ["1", "2"],
        "Sender-State": ["live", "paused", "stopped"], "Finish-Reason": ["10001", "10010"], "Control-Version": ["1"],
        "Wants-Pictures": ["0", "1"], "Wants-Audio": ["0", "1"], "Prefer-Frame-Rate": ["29970"],
        "Prefer-Width": ["720"], "Prefer-Height": ["1280"], "Prefer-Quality": ["80"],
    ]

    /// The sets of fields that make a message or request whole.
    private static let sets = [
        ["Content-Length", "Buffer-Width", "Buffer-Height", "Buffer-Orientation"],
        ["Content-Length", "Message-Type", "Audio-Kind", "Audio-Sample-Rate", "Audio-Channels"],
        ["Content-Length", "Message-Type", "Sender-State", "Finish-Reason", "Control-Version"],
        ["Content-Length", "Control-Version", "Wants-Pictures", "Wants-Audio"],
        ["Content-Length", "Prefer-Frame-Rate", "Prefer-Width", "Prefer-Height", "Prefer-Quality"],
        ["Content-Length", "Finish-Reason"], ["Content-Length", "Ping-Number"], ["Content-Length"],
    ]

    /// A message or request of a set of fields, mostly usual ones, in any order, and its body.
    private func message(startLine: String, _ random: inout SplitMix) -> [UInt8] {
        var names = (Self.sets.randomElement(using: &random) ?? []).shuffled(using: &random)
        for _ in 0..<Int.random(in: 0...2, using: &random) {
            let place = Int.random(in: 0...names.count, using: &random)
            names.insert(Self.names.randomElement(using: &random) ?? "", at: place)
        }
        if Int.random(in: 0..<6, using: &random) == 0 { _ = names.popLast() }
        var text = startLine + "\r\n"
        for name in names {
            let isUsual = Int.random(in: 0..<12, using: &random) > 0
            let value = (isUsual ? Self.usual[name] : nil) ?? Self.values
            text += name + [":", ": ", ":\t "][Int.random(in: 0...2, using: &random)]
            text += (value.randomElement(using: &random) ?? "") + "\r\n"
        }
        return Array((text + "\r\n").utf8)
    }

    @Test(arguments: UInt64(1)...8) func `messages are parsed as by the first parser`(seed: UInt64) {
        var random = SplitMix(seed: seed)
        var kinds = [String: Int]()
        for _ in 0..<2_000 {
            var stream: [UInt8] = []
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                stream += message(startLine: "HTTP/1.1 200 OK", &random)
                stream += [UInt8](repeating: 7, count: [0, 4, 20].randomElement(using: &random) ?? 0)
            }
            var limits = WireLimits()
            if Bool.random(using: &random) { limits.maximumDimension = 1_000 }
            if Bool.random(using: &random) { limits.maximumContentLength = 19 }
            var oracle = OracleMessageDecoder(limits: limits)
            let (events, error) = oracle.events(of: stream)
            let found = Transcript(of: stream, limits: limits)
            let text = String(decoding: stream, as: UTF8.self)
            #expect(found.messages.map(\.event) == events && found.error == error, "\(text)")
            for event in events { kinds[String(describing: event).prefix { $0 != "(" }.description, default: 0] += 1 }
            if let error { kinds[error.code.rawValue, default: 0] += 1 }
        }
        for kind in ["head", "audio", "status", "skipped", "field.missing", "field.duplicate", "number.outOfRange"] {
            #expect(kinds[kind, default: 0] > 0, "\(kind) among \(kinds)")
        }
    }

    @Test(arguments: UInt64(1)...8) func `requests are parsed as by the first parser`(seed: UInt64) {
        var random = SplitMix(seed: seed)
        var kinds = [String: Int]()
        for _ in 0..<2_000 {
            var stream: [UInt8] = []
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                let name = (ControlName.allCases.map(\.rawValue) + ["other", ""]).randomElement(using: &random) ?? ""
                stream += message(startLine: "POST /\(name) HTTP/1.1", &random)
                stream += [UInt8](repeating: 7, count: [0, 4, 20].randomElement(using: &random) ?? 0)
            }
            var oracle = OracleControlDecoder(limits: ControlLimits())
            let (events, error) = oracle.events(of: stream)
            let (found, foundError) = Self.events(of: stream)
            #expect(found == events && foundError == error, "\(String(decoding: stream, as: UTF8.self))")
            for case .request(let request) in events { kinds[request.name, default: 0] += 1 }
            for case .skipped(_) in events { kinds["skipped", default: 0] += 1 }
            if error != nil { kinds["error", default: 0] += 1 }
        }
        for kind in ControlName.allCases.map(\.rawValue) + ["skipped", "error"] {
            #expect(kinds[kind, default: 0] > 0, "\(kind) among \(kinds)")
        }
    }

    /// What each request of a stream is, and the error that ends it.
    private static func events(of bytes: [UInt8]) -> ([ControlDecoder.Event], WireError?) {
        var decoder = ControlDecoder()
        var events: [ControlDecoder.Event] = []
        var start = 0
        do {
            while start < bytes.count {
                let step = try decoder.decode(bytes.span.extracting(start...))
                start += step.consumed
                switch step.event {
                case .request, .skipped: events.append(step.event)
                case .incomplete, .body: break
                }
            }
            try decoder.finish()
        } catch {
            return (events, error)
        }
        return (events, nil)
    }

    @Test func `names differ by more than case, and each field has a bit of its own`() {
        func check<Field: HeadField>(_ type: Field.Type) {
            let fields = Array(Field.allCases)
            #expect(Set(fields.map { $0.definition.name.lowercased() }).count == fields.count)
            #expect(Set(fields.map(\.bit)).count == fields.count && fields.count < 64)
            // A field is found in its place by its number.
            #expect(fields.map(\.rawValue) == Array(0..<fields.count))
            for field in fields {
                let name = field.definition.name
                let table = HeadFields<Field>(maximumContentLength: 1)
                #expect(table.field(named: Array(name.utf8))?.rawValue == field.rawValue)
                #expect(table.field(named: Array(name.lowercased().utf8))?.rawValue == field.rawValue)
                #expect(table.field(named: Array((name + "s").utf8)) == nil)
            }
        }
        check(MessageField.self)
        check(ControlField.self)
    }
}
