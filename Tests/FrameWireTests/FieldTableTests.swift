import TestDescriptions
import TestSupport
import Testing

@testable import FrameWire

/// The parsers over tables of fields, compared with the ones before them.
@Suite(.tags(.computes)) struct FieldTableTests {
    @Test(arguments: UInt64(1)...8) func `messages are parsed as by the first parser`(seed: UInt64) {
        var random = SplitMix(seed: seed)
        var kinds = [String: Int]()
        for _ in 0..<1_000 {
            let stream = FieldStream.messages(.first, &random)
            let limits = FieldStream.limits(&random)
            var oracle = OracleMessageDecoder(limits: limits)
            let (messages, error) = oracle.messages(of: stream)
            let found = Transcript(of: stream, limits: limits)
            let text = String(decoding: stream, as: UTF8.self)
            #expect(found.messages.map(\.kind) == messages && found.error == error, "\(text)")
            for message in messages {
                kinds[String(describing: message).prefix { $0 != "(" }.description, default: 0] += 1
            }
            if let error { kinds[error.code.rawValue, default: 0] += 1 }
        }
        for kind in ["frame", "audio", "status", "unknown", "field.missing", "field.duplicate", "number.outOfRange"] {
            #expect(kinds[kind, default: 0] > 0, "\(kind) among \(kinds)")
        }
    }

    // The first parser skips messages about shared memory by their length, and every field that came with them. So where
    // the present one knows such a message, the first one has `.unknown`; all others are equal. The present one checks
    // the new fields, so it may refuse what the first one skips, but never the other way round: up to its error both
    // agree, and the first one's error, if any, is not earlier.
    /// Shows P37.
    @Test(arguments: UInt64(11)...18) func `the first parser skips messages about shared memory`(seed: UInt64) {
        var random = SplitMix(seed: seed)
        var kinds = [String: Int]()
        for _ in 0..<3_000 {
            let stream = FieldStream.messages(.present, &random)
            let limits = FieldStream.limits(&random)
            var oracle = OracleMessageDecoder(limits: limits)
            let (messages, error) = oracle.messages(of: stream)
            let found = Transcript(of: stream, limits: limits)
            let text = String(decoding: stream, as: UTF8.self)
            let skipped = found.messages.map { message in
                switch message.kind {
                case .sharedBuffer, .sharedFrame: FrameMessageDecoder.Message.unknown
                default: message.kind
                }
            }
            #expect(skipped.elementsEqual(messages.prefix(skipped.count)), "\(text)")
            if let ours = found.error {
                #expect(error.map { ($0.byteOffset ?? 0) >= (ours.byteOffset ?? 0) } ?? true, "\(text)")
                if error != ours { kinds["refused now", default: 0] += 1 }
            } else {
                #expect(error == nil && skipped.count == messages.count, "\(text)")
            }
            for case .sharedBuffer in found.messages.map(\.kind) { kinds["buffer", default: 0] += 1 }
            for case .sharedFrame in found.messages.map(\.kind) { kinds["frame", default: 0] += 1 }
        }
        for kind in ["buffer", "frame", "refused now"] {
            #expect(kinds[kind, default: 0] > 0, "\(kind) among \(kinds)")
        }
    }

    @Test(arguments: UInt64(1)...8) func `requests are parsed as by the first parser`(seed: UInt64) {
        var random = SplitMix(seed: seed)
        var kinds = [String: Int]()
        for _ in 0..<1_000 {
            let stream = FieldStream.requests(.first, &random)
            var oracle = OracleControlDecoder(limits: ControlLimits())
            let (events, error) = oracle.events(of: stream)
            let (found, foundError) = Self.events(of: stream)
            #expect(found == events && foundError == error, "\(String(decoding: stream, as: UTF8.self))")
            for case .request(let request) in events { kinds[request.name, default: 0] += 1 }
            for case .skipped(_) in events { kinds["skipped", default: 0] += 1 }
            if error != nil { kinds["error", default: 0] += 1 }
        }
        for kind in FieldStream.Version.first.requestNames + ["skipped", "error"] {
            #expect(kinds[kind, default: 0] > 0, "\(kind) among \(kinds)")
        }
    }

    // To the first parser, `release` and `decline` are requests of an unknown name, and `Shared-Memory` in a hello is an
    // unknown field. All errors are equal, because the new fields do not determine where a request ends.
    /// Shows P37.
    @Test(arguments: UInt64(21)...28) func `the first parser skips requests about shared memory`(seed: UInt64) {
        var random = SplitMix(seed: seed)
        var kinds = [String: Int]()
        for _ in 0..<1_000 {
            let stream = FieldStream.requests(.present, &random)
            var oracle = OracleControlDecoder(limits: ControlLimits())
            let (events, error) = oracle.events(of: stream)
            let (found, foundError) = Self.events(of: stream)
            let text = String(decoding: stream, as: UTF8.self)
            #expect(found.count == events.count && foundError == error, "\(text)")
            for (ours, theirs) in zip(found, events) {
                let isSame = Self.isSame(ours, toFirst: theirs, &kinds)
                #expect(isSame, "\(ours) and \(theirs) of \(text)")
            }
        }
        for kind in ["release", "decline", "hello", "skipped"] {
            #expect(kinds[kind, default: 0] > 0, "\(kind) among \(kinds)")
        }
    }

    /// Whether the present parser's event is what the first one's has become, which is counted if it is a new one.
    private static func isSame(
        _ ours: ControlDecoder.Event,
        toFirst theirs: ControlDecoder.Event,
        _ kinds: inout [String: Int]
    ) -> Bool {
        switch (ours, theirs) {
        case (.request(.hello(var hello)), .request(.hello(let first))):
            if hello.sharedMemory != nil { kinds["hello", default: 0] += 1 }
            (hello.sharedMemory, hello.wantsInfo) = (nil, false)
            return hello == first
        case (.request(let request), .skipped(let first)):
            kinds[request.name, default: 0] += 1
            return request == .decline && first.name == request.name && first.reason == .unknown
        case (.release, .skipped(let first)):
            kinds["release", default: 0] += 1
            return first.name == "release" && first.reason == .unknown
        case (.skipped(let skipped), .skipped(let first)) where ["release", "decline"].contains(skipped.name):
            kinds["skipped", default: 0] += 1
            return first.name == skipped.name && first.reason == .unknown
        case (.skipped(let skipped), .request(let first)):
            // A wrong version for shared memory.
            return skipped.name == "hello" && first.name == "hello"
        case (.skipped(let skipped), .skipped(let first)) where skipped.name == "hello":
            return first.name == "hello"
        default:
            return ours == theirs
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
                case .request, .release, .skipped: events.append(step.event)
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
        func check<Field: HeaderField>(_ type: Field.Type) {
            let fields = Array(Field.allCases)
            #expect(Set(fields.map { $0.definition.name.lowercased() }).count == fields.count)
            #expect(Set(fields.map(\.bit)).count == fields.count && fields.count < 64)
            // A field is found in its place by its number.
            #expect(fields.map(\.rawValue) == Array(0..<fields.count))
            for field in fields {
                let name = field.definition.name
                let table = HeaderFields<Field>(maximumContentLength: 1)
                #expect(table.field(named: Array(name.utf8))?.rawValue == field.rawValue)
                #expect(table.field(named: Array(name.lowercased().utf8))?.rawValue == field.rawValue)
                #expect(table.field(named: Array((name + "x").utf8)) == nil)
            }
        }
        check(MessageField.self)
        check(ControlField.self)
    }
}
