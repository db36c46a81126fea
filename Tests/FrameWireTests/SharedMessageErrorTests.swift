import FrameWire
import TestDescriptions
import TestSupport
import Testing

/// Messages about shared memory that are refused, and what is accepted although it looks wrong.
@Suite(.tags(.computes)) struct SharedMessageErrorTests {
    /// An announcement with one value replaced.
    private static func buffer(_ code: WireError.Code, _ name: String, _ value: String) -> WireCase {
        let lines = SharedStreams.lines(SharedStreams.bufferLines, replacing: name, with: "\(name): \(value)")
        return WireCase(code, stream: Streams.header(lines))
    }

    /// A frame with one value replaced.
    private static func frame(_ code: WireError.Code, _ name: String, _ value: String) -> WireCase {
        let lines = SharedStreams.lines(SharedStreams.frameLines, replacing: name, with: "\(name): \(value)")
        return WireCase(code, stream: Streams.header(lines))
    }

    /// The text of a header with the mark before its last byte; by scalars, because CR LF is one character.
    private static func markedAtEnd(_ lines: [String]) -> String {
        String(String.UnicodeScalarView(Streams.header(lines).unicodeScalars.dropLast())) + "¦\n"
    }

    @Test(arguments: [
        buffer(.numberOutOfRange, "Shared-Buffer", "¦8"),
        buffer(.numberOutOfRange, "Shared-Buffer", "1¦0"),
        buffer(.numberInvalid, "Shared-Buffer", "¦-1"),
        buffer(.numberInvalid, "Shared-Buffer", "¦two"),
        buffer(.numberEmpty, "Shared-Buffer", "¦"),
        buffer(.numberLeadingZero, "Shared-Buffer", "0¦7"),
        buffer(.numberOutOfRange, "Shared-Bytes", "0¦"),
        buffer(.numberOutOfRange, "Shared-Bytes", "0¦ "),
        buffer(.numberOutOfRange, "Shared-Bytes", "107374182¦5"),
        buffer(.numberOutOfRange, "Shared-Bytes", "184467440¦73709551616"),
        buffer(.numberInvalid, "Shared-Bytes", "4¦k"),
        buffer(.numberEmpty, "Shared-Bytes", "¦"),
        buffer(.fieldDuplicate, "Shared-Buffer", "2\r\nshared-buffer¦: 2"),
        buffer(.fieldDuplicate, "Shared-Bytes", "4096\r\nShared-Bytes¦: 4096"),
        buffer(.fieldUnsupported, "Shared-Bytes", "4096\r\nTransfer-Encoding¦: chunked"),
        // A field of other messages must still have a value that it may have.
        buffer(.wordUnknown, "Shared-Bytes", "4096\r\nShared-Format: yuv¦"),
        buffer(.dimensionZero, "Shared-Bytes", "4096\r\nBuffer-Width: 0¦"),
    ])
    func `a wrong value in an announcement is an error at its byte`(_ wireCase: WireCase) { wireCase.check() }

    @Test(arguments: [
        frame(.numberOutOfRange, "Shared-Buffer", "¦8"),
        frame(.wordUnknown, "Shared-Format", "yuv420¦"),
        frame(.wordUnknown, "Shared-Format", "I420¦"),
        frame(.wordEmpty, "Shared-Format", "¦"),
        frame(.wordInvalid, "Shared-Format", "i420 ¦nv12"),
        frame(.wordTooLong, "Shared-Format", String(repeating: "b", count: 32) + "¦b"),
        frame(.dimensionZero, "Buffer-Width", "0¦"),
        frame(.dimensionTooLarge, "Buffer-Height", "1638¦5"),
        frame(.orientationOutOfRange, "Buffer-Orientation", "¦9"),
        frame(.numberOutOfRange, "Shared-Offset", "107374182¦5"),
        frame(.numberOutOfRange, "Shared-Offset-2", "107374182¦5"),
        frame(.numberOutOfRange, "Shared-Offset-3", "107374182¦5"),
        frame(.numberInvalid, "Shared-Offset", "¦-64"),
        frame(.numberOutOfRange, "Shared-Stride", "0¦"),
        frame(.numberOutOfRange, "Shared-Stride-2", "0¦"),
        frame(.numberOutOfRange, "Shared-Stride-3", "0¦"),
        frame(.numberOutOfRange, "Shared-Stride", "107374182¦5"),
        frame(.numberOutOfRange, "Shared-Stride-2", "107374182¦5"),
        frame(.numberOutOfRange, "Shared-Stride-3", "184467440¦73709551616"),
        frame(.numberOutOfRange, "Changed-Row", "6553¦6"),
        frame(.numberOutOfRange, "Changed-Rows", "6553¦6"),
        frame(.numberInvalid, "Changed-Row", "¦-1"),
        frame(.numberOverflow, "Buffer-Presentation-Time", "1844674407370955161¦6"),
        frame(.numberOverflow, "Buffer-Sequence", "1844674407370955161¦6"),
        frame(.fieldDuplicate, "Shared-Format", "i420\r\nShared-Format¦: i420"),
        frame(.fieldDuplicate, "Shared-Stride-3", "3\r\nSHARED-STRIDE-3¦: 3"),
        frame(.fieldDuplicate, "Changed-Rows", "2\r\nChanged-Rows¦: 2"),
        frame(.fieldDuplicate, "Shared-Buffer", "2\r\nShared-Buffer¦: 3"),
        frame(.numberOutOfRange, "Buffer-Sequence", "7\r\nShared-Bytes: 0¦"),
    ])
    func `a wrong value in a frame is an error at its byte`(_ wireCase: WireCase) { wireCase.check() }

    @Test(arguments: SharedStreams.bufferLines.filter { !$0.hasPrefix("Message-Type") })
    func `a field that an announcement lacks is named at the header's end`(line: String) {
        checkMissing(String(line.prefix { $0 != ":" }), in: SharedStreams.bufferLines)
    }

    @Test(arguments: SharedStreams.frameLines.dropLast(2).filter { !$0.hasPrefix("Message-Type") })
    func `a field that a frame lacks is named at the header's end, one of the changed rows alone included`(
        line: String
    ) {
        checkMissing(String(line.prefix { $0 != ":" }), in: SharedStreams.frameLines)
    }

    @Test(arguments: PixelFormat.allCases)
    func `a frame must state the position of every plane of its format`(format: PixelFormat) {
        let names = ["", "-2", "-3"].flatMap { ["Shared-Offset" + $0, "Shared-Stride" + $0] }
        let planar = SharedStreams.lines(
            SharedStreams.frameLines,
            replacing: "Shared-Format",
            with: "Shared-Format: \(format.rawValue)"
        )
        for (place, name) in names.enumerated() {
            let result = Transcript(of: Array(Streams.header(SharedStreams.lines(planar, replacing: name)).utf8))
            let isRequired = place < 2 * format.planeCount
            #expect(result.error?.detail == (isRequired ? name : nil))
            #expect(result.messages.count == (isRequired ? 0 : 1))
        }
    }

    private func checkMissing(_ name: String, in lines: [String]) {
        let rest = SharedStreams.lines(lines, replacing: name)
        #expect(rest.count == lines.count - 1)
        let wireCase = WireCase(.fieldMissing, stream: Self.markedAtEnd(rest))
        wireCase.check()
        #expect(Transcript(of: wireCase.bytes).error?.detail == name)
    }

    @Test(arguments: [("bgra", 1), ("gray", 1), ("nv12", 2)])
    func `positions of planes that the format does not have are ignored`(word: String, planeCount: Int) {
        let lines = SharedStreams.lines(
            SharedStreams.frameLines,
            replacing: "Shared-Format",
            with: "Shared-Format: \(word)"
        )
        var expected = SharedStreams.frame
        expected.format = PixelFormat(rawValue: word) ?? .i420
        expected.planes = Array(expected.planes.prefix(planeCount))
        let result = transcript(ofEverySplitOf: Array(Streams.header(lines).utf8))
        #expect(result.messages.map(\.kind) == [.sharedFrame(expected)])
        // Their values must still be valid ones.
        let wrong = SharedStreams.lines(lines, replacing: "Shared-Stride-3", with: "Shared-Stride-3: 0¦")
        WireCase(.numberOutOfRange, stream: Streams.header(wrong)).check()
    }

    @Test(arguments: [SharedStreams.bufferLines, SharedStreams.frameLines])
    func `a message of shared memory may have no body`(lines: [String]) {
        let withBody = SharedStreams.lines(lines, replacing: "Content-Length", with: "Content-Length: 1")
        let wireCase = WireCase(.contentLengthInvalid, stream: Self.markedAtEnd(withBody) + "X")
        wireCase.check()
        #expect(Transcript(of: wireCase.bytes).error?.detail == "1")
    }

    @Test func `a frame has at most the pixels and the sides that the limits allow`() {
        func stream(_ width: Int, _ height: Int) -> [String] {
            let lines = SharedStreams.lines(
                SharedStreams.frameLines,
                replacing: "Buffer-Width",
                with: "Buffer-Width: \(width)"
            )
            return SharedStreams.lines(lines, replacing: "Buffer-Height", with: "Buffer-Height: \(height)")
        }
        #expect(Transcript(of: Array(Streams.header(stream(8_192, 4_096)).utf8)).messages.count == 1)
        let wireCase = WireCase(.pixelsTooMany, stream: Self.markedAtEnd(stream(8_192, 4_097)))
        wireCase.check()
        #expect(Transcript(of: wireCase.bytes).error?.detail == "8192 x 4097")
        var limits = FrameMessageDecoder.Limits()
        limits.maximumDimension = .max
        let enormous = Array(Streams.header(stream(9_999_999_999, 9_999_999_999)).utf8)
        #expect(Transcript(of: enormous, limits: limits).error?.code == .pixelsTooMany)
        // Too many pixels in an announcement have no meaning.
        let lines = SharedStreams.bufferLines + ["Buffer-Width: 16384", "Buffer-Height: 16384"]
        let events = Transcript(of: Array(Streams.header(lines).utf8)).messages.map(\.kind)
        #expect(events == [.sharedBuffer(SharedStreams.buffer)])
    }

    @Test(arguments: [
        SharedStreams.frameLines.reversed(),
        SharedStreams.frameLines.map { $0.uppercased().replacing("SHARED-FRAME", with: "shared-frame") }
            .map { $0.replacing("I420", with: "i420") },
        SharedStreams.frameLines.map { $0.lowercased().replacing(": ", with: ":\t ") + " \t" },
        ["X-Other: shared-buffer", "Shared-Offset-4: x"] + SharedStreams.frameLines + ["Shared-Bytes: 1", "Shared: y"],
    ])
    func `any order, case and white space are accepted, and unknown fields skipped`(lines: [String]) {
        let result = transcript(ofEverySplitOf: Array(Streams.header(lines).utf8) + Streams.good)
        #expect(result.error == nil && result.messages.count == 2)
        #expect(result.messages.first?.kind == .sharedFrame(SharedStreams.frame))
    }

    @Test func `nothing that a message of shared memory states is left for the next one`() {
        var plain = SharedStreams.frame
        (plain.changedRows, plain.info.timestamp, plain.info.sequence) = (nil, nil, nil)
        (plain.format, plain.planes) = (.bgra, [.init(offset: 0, bytesPerRow: 20)])
        let incomplete = Streams.header(["Content-Length: 0", "Message-Type: shared-frame"])
        let stream = SharedStreams.frame.encoded() + plain.encoded() + SharedStreams.buffer.encoded() + Streams.good
        let result = transcript(ofEverySplitOf: stream + Array(incomplete.utf8))
        #expect(
            result.messages.map(\.kind) == [
                .sharedFrame(SharedStreams.frame), .sharedFrame(plain), .sharedBuffer(SharedStreams.buffer),
                Transcript(of: Streams.good).messages[0].kind,
            ]
        )
        #expect(result.error?.code == .fieldMissing && result.error?.detail == "Shared-Buffer")
    }

    @Test(arguments: [UInt64(56), 57]) func `random faults give the same result however the stream is cut`(
        seed: UInt64
    ) {
        let telling = Array("\r\n: \t0123489,-HTPCBSbcsxai\0\u{7F}".utf8) + [0x80, 0xFF]
        var random = SplitMix(seed: seed)
        var faults: Set<WireError.Code> = []
        for round in 0..<500 {
            let (buffer, frame) = (SharedStreams.buffer(&random), SharedStreams.frame(&random))
            var stream = buffer.encoded() + frame.encoded() + Streams.good
            stream.damage(with: telling, using: &random)
            let whole = stream.decodedHoweverCut("seed \(seed), round \(round)", using: &random) { stream, cuts in
                Transcript(of: stream, cutBefore: cuts)
            }
            if let error = whole.error { faults.insert(error.code) }
        }
        #expect(faults.count > 12, "the faults reach most of the decoder: \(faults)")
    }
}
