import Foundation
import FrameWire
import TestDescriptions
import TestSupport
import Testing

@Suite("Every kind of message and request", .tags(.computes))
struct SampleTests {
    @Test func `every field, word and request has a sample, is specified and is known to the fuzzers`() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..")
        func text(_ path: String) throws -> String {
            try String(contentsOf: root.appending(path: path), encoding: .utf8)
        }
        let specification = try text("docs/wire-format.md")
        let dictionaries = try ["messages", "control"].map { try text("Fixtures/fuzz/\($0).dict") }
        for field in HeaderField.allCases {
            #expect((8...24).contains(field.name.utf8.count), "\(field.name): the parser looks for no other name")
            #expect(specification.contains("`\(field.name)`"), "docs/wire-format.md lacks \(field.name)")
            // The first is refused, and the second is written by earlier versions only.
            guard field != .transferEncoding, field != .infoContinues else { continue }
            let samples = Sample.all.filter { $0.lines.contains { $0.hasPrefix(field.name + ": ") } }
            #expect(!samples.isEmpty, "no sample has \(field.name)")
            for (kind, dictionary) in zip(Transcript.Kind.allCases, dictionaries)
            where samples.contains(where: { $0.kind == kind }) {
                #expect(dictionary.contains("\"\(field.name): \""), "\(kind): \(field.name)")
            }
            for word in field.words {
                #expect(samples.contains { $0.lines.contains("\(field.name): \(word)") }, "no sample has \(word)")
                #expect(specification.contains("`\(word)`") && dictionaries[0].contains("\"\(word)\""), "\(word)")
            }
        }
        // An info has a body, and what is discarded a connection states by itself.
        let names = Sample.requests.map(\.name) + ["info", "discarded"]
        #expect(Set(names) == Set(ControlName.allCases.map(\.rawValue)))
        for name in names {
            #expect(specification.contains("| `\(name)` |") && dictionaries[1].contains("\"\(name)\""), "\(name)")
        }
    }

    @Test(arguments: Sample.all)
    func `what is written is what the wire format says, and is read however it is cut`(sample: Sample) {
        #expect(String(decoding: sample.encoded, as: UTF8.self) == sample.text)
        let good = Streams.good(sample.kind)
        let result = transcript(ofEverySplitOf: good + sample.encoded + sample.encoded + good, sample.kind)
        #expect(result.error == nil && result.areAllComplete)
        let item = Streams.item(sample.kind)
        #expect(result.items == [item, sample.item, sample.item, item])
        #expect(result.entries[1].body == sample.body.bytes)
    }

    @Test(arguments: Transcript.Kind.allCases) func `nothing that one header states reaches into the next`(
        kind: Transcript.Kind
    ) {
        let samples = Sample.all.filter { $0.kind == kind }
        for order in [samples, samples.reversed()] {
            let empty = Streams.header([], start: Streams.start(kind))
            let result = Transcript(of: order.flatMap(\.encoded) + empty.bytes, kind)
            #expect(result.items == order.map(\.item) && result.areAllComplete)
            #expect(result.error?.code == .fieldMissing && result.error?.detail == "Content-Length")
        }
    }

    @Test(arguments: Sample.all)
    func `any order, case and optional white space, and unknown fields, are accepted`(sample: Sample) {
        func rewriting(_ change: (_ name: Substring, _ value: Substring) -> String) -> [String] {
            sample.lines.map { line in
                let parts = line.split(separator: ": ", maxSplits: 1)
                return change(parts[0], parts[1])
            }
        }
        let unknown = [
            "Server: \u{FF}?", "X:", "X:", "Content-Lengthy: 9", "Content-Lengt: 8", "buffer_width: 7",
            "Shared-Offset-4: x", "Wants-Smell: yes", "Buffer-^idth: 0", String(repeating: "n", count: 200) + ": 5",
        ]
        for lines in [
            sample.lines.reversed(), rewriting { $0.uppercased() + ":" + $1 },
            rewriting { $0.lowercased() + ": \t " + $1 + " \t" }, unknown + sample.lines, sample.lines + unknown,
        ] {
            let result = transcript(ofEverySplitOf: sample.text(lines).bytes, sample.kind)
            #expect(result.error == nil && result.items == [sample.item])
        }
    }

    @Test(arguments: Sample.all)
    func `a field that is missing is named at the end of the header, unless it is optional`(sample: Sample) {
        for line in sample.lines where !line.hasPrefix("Message-Type") {
            let name = String(line.prefix { $0 != ":" })
            let text = Streams.header(
                sample.lines.replacing(name),
                start: Streams.start(sample.kind, name: sample.name)
            ).markedAtEnd
            let wireCase = WireCase(.fieldMissing, sample.kind, stream: text)
            if !sample.required.contains(name) {
                let result = Transcript(of: wireCase.bytes + sample.body.bytes, sample.kind)
                #expect(result.error == nil && result.entries.count == 1, "\(name)")
            } else if sample.kind == .messages || name == "Content-Length" {
                wireCase.check(isSplit: false)
                #expect(Transcript(of: wireCase.bytes, sample.kind).error?.detail == name)
            } else {
                wireCase.checkIsSkipped(name: sample.name, isSplit: false)
            }
        }
    }

    @Test(arguments: Sample.all) func `a known field that occurs twice, in any case, is an error`(sample: Sample) {
        for line in sample.lines {
            let parts = line.split(separator: ": ", maxSplits: 1)
            let again = parts[0].lowercased() + "¦:" + parts[1]
            let text = Streams.header(sample.lines + [again], start: Streams.start(sample.kind, name: sample.name))
            let wireCase = WireCase(.fieldDuplicate, sample.kind, stream: text)
            if sample.kind == .messages || parts[0] == "Content-Length" {
                wireCase.check(isSplit: false)
            } else {
                wireCase.checkIsSkipped(name: sample.name, isSplit: false)
            }
        }
    }

    // A receiver that does not support shared memory, audio or infos knows no such kind, nor their fields.
    /// Shows P34.
    @Test(arguments: Sample.all)
    func `what is of a later kind is skipped by its length, and everything around it keeps its meaning`(sample: Sample)
    {
        let good = Streams.good(sample.kind)
        let item = Streams.item(sample.kind)
        for name in ["later", "Audio", String(repeating: "k", count: 32)] {
            var lines = sample.lines.replacing("Content-Length", with: "Content-Length: 4")
            let skipped: Transcript.Item
            if sample.kind == .messages {
                lines = lines.replacing("Message-Type") + ["Message-Type: \(name)"]
                skipped = .message(.unknown)
            } else {
                skipped = .skipped(isPreference: false)
            }
            let text = Streams.header(lines, start: Streams.start(sample.kind, name: name)) + "HTTP"
            let result = transcript(ofEverySplitOf: good + text.bytes + good, sample.kind)
            #expect(result.error == nil && result.areAllComplete && result.items == [item, skipped, item])
            #expect(sample.kind == .requests || result.entries[1].body == Array("HTTP".utf8))
        }
    }

    @Test(arguments: Sample.all) func `a body that is not allowed is an error, and that of a request is skipped`(
        sample: Sample
    ) {
        guard sample.body.isEmpty, sample.type != "info" else { return }
        let lines = sample.lines.replacing("Content-Length", with: "Content-Length: 1")
        let text = Streams.header(lines, start: Streams.start(sample.kind, name: sample.name))
        if sample.kind == .messages {
            let wireCase = WireCase(.contentLengthInvalid, stream: text.markedAtEnd)
            wireCase.check()
            #expect(Transcript(of: wireCase.bytes).error?.detail == "1")
        } else {
            let result = transcript(ofEverySplitOf: text.bytes + [0x50] + sample.encoded, .requests)
            #expect(result.error == nil && result.items == [sample.item, sample.item])
        }
    }

    @Test func `the fields of other messages have no meaning, but must be valid`() {
        let all = Sample.all.filter { $0.kind == .messages }
        let fields = Set(all.flatMap(\.lines).map { String($0.prefix { $0 != ":" }) })
        for sample in all {
            let own = sample.lines.map { String($0.prefix { $0 != ":" }) }
            // What is optional in the message has a meaning there.
            let others = fields.subtracting(own).subtracting([
                "Message-Type", "Buffer-Presentation-Time", "Buffer-Sequence", "Pong-Number", "Refused-Preferences",
                "Finish-Reason", "Changed-Row", "Changed-Rows",
            ])
            let lines = all.flatMap(\.lines).filter { line in others.contains { line.hasPrefix($0 + ":") } }
            let once = Dictionary(lines.map { (String($0.prefix { $0 != ":" }), $0) }) { first, _ in first }.values
            let result = Transcript(of: sample.text(sample.lines + once.sorted()).bytes)
            #expect(result.error == nil && result.items == [sample.item], "\(sample)")
            guard others.contains("Buffer-Width") else { continue }
            WireCase(.numberOutOfRange, stream: sample.text(sample.lines + ["Buffer-Width: 0¦"])).check()
        }
    }

    @Test func `the fields of other requests have no meaning, whatever they say`() {
        let all = Sample.requests
        let names = Set(all.flatMap(\.lines).map { String($0.prefix { $0 != ":" }) })
        for sample in all {
            let own = Set(
                all.filter { $0.name == sample.name }.flatMap(\.lines).map { String($0.prefix { $0 != ":" }) }
            )
            let lines = names.subtracting(own).sorted().prefix(5).flatMap { ["\($0): x", "\($0):"] }
            let result = Transcript(of: sample.text(lines + sample.lines).bytes, .requests)
            #expect(result.error == nil && result.items == [sample.item], "\(sample)")
        }
    }

    @Test(arguments: [-1, 0, 1, 300]) func `a message is appended if there is room for all of it`(beyond: Int) {
        for sample in Sample.all where sample.kind == .messages {
            let header = sample.encoded.dropLast(sample.body.utf8.count)
            var isWritten = false
            let bytes = [UInt8](capacity: 3 + header.count + beyond) { output in
                for byte in [1, 2, 3] as [UInt8] { output.append(byte) }
                // A capacity is a lower bound: what the array has beyond it must not count here.
                while output.freeCapacity > header.count + beyond { output.append(0) }
                guard case .message(let message) = sample.item else { return }
                switch message {
                case .frame(let header): isWritten = header.encode(into: &output)
                case .audio(let header): isWritten = header.encode(into: &output)
                case .status(let status): isWritten = status.encode(into: &output)
                case .sharedBuffer(let buffer): isWritten = buffer.encode(into: &output)
                case .sharedFrame(let header): isWritten = header.encode(into: &output)
                case .info(let info): isWritten = info.encodeHeader(bodyByteCount: 0, into: &output)
                case .unknown: break
                }
            }
            #expect(isWritten == (beyond >= 0) && bytes.prefix(3) == [1, 2, 3])
            #expect(bytes.contains(UInt8(ascii: "H")) == (beyond >= 0))
            #expect(beyond < 0 || bytes.suffix(header.count).elementsEqual(header))
        }
    }

    /// Shows P95.
    @Test(arguments: UInt64(1)...8) func `streams with random faults give the same however they are cut`(seed: UInt64) {
        var random = SplitMix(seed: seed)
        var found: Set<WireError.Code> = []
        for round in 0..<1_000 {
            let kind: Transcript.Kind = round % 2 == 0 ? .messages : .requests
            var stream =
                Streams.good(kind)
                + (0..<2).flatMap { _ in
                    Sample.all.filter { $0.kind == kind }.randomElement(using: &random)?.encoded ?? []
                }
            stream.damage(using: &random)
            let whole = Transcript(of: stream, kind)
            let half = Int.random(in: stream.indices, using: &random)
            let isSameHalved = Transcript(of: stream, kind, cutBefore: [half]) == whole
            let isSameBytewise = Transcript(of: stream, kind, cutBefore: Array(stream.indices)) == whole
            #expect(isSameHalved && isSameBytewise, "seed \(seed), round \(round), cut before byte \(half): \(stream)")
            if let error = whole.error { found.insert(error.code) }
        }
        #expect(found.count > 6, "the faults reach most of the decoders: \(found)")
    }
}
