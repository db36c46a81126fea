import FrameWire
import TestDescriptions
import TestSupport
import Testing

@Suite("Audio messages", .tags(.computes))
struct AudioMessageTests {
    static let lines = ["Content-Length: 8", "Message-Type: audio", "Audio-Kind: app"]
    static let format = ["Audio-Sample-Rate: 44100", "Audio-Channels: 2"]
    static let header = AudioHeader(contentLength: 8, kind: .app, sampleRate: 44_100, channels: 2)

    /// An audio message with its body, the line of the field `name` replaced or left out.
    private static func text(replacing name: String? = nil, with line: String? = nil) -> String {
        var all = lines + format
        if let name, let index = all.firstIndex(where: { $0.hasPrefix(name + ":") }) {
            if let line { all[index] = line } else { all.remove(at: index) }
        } else if let line {
            all.append(line)
        }
        return Streams.header(all) + "PCMPCMPC"
    }

    private static func wrong(_ code: WireError.Code, _ name: String, _ value: String) -> WireCase {
        WireCase(code, stream: text(replacing: name, with: name + ": " + value))
    }

    @Test func `audio is written byte for byte as specified, and is read back`() {
        let plain = Self.header.encoded()
        #expect(String(decoding: plain, as: UTF8.self) == Streams.header(Self.lines + Self.format))
        var timed = Self.header
        timed.kind = .microphone
        timed.timestamp = 1_700_000_000
        timed.sequence = 0
        let lines = [Self.lines[0], Self.lines[1], "Audio-Kind: microphone"] + Self.format
        let ours = ["Buffer-Presentation-Time: 1700000000", "Buffer-Sequence: 0"]
        #expect(String(decoding: timed.encoded(), as: UTF8.self) == Streams.header(lines + ours))

        let body = Array("PCMPCMPC".utf8)
        let result = transcript(ofEverySplitOf: plain + body + timed.encoded() + body + Streams.good)
        #expect(result.error == nil && result.areAllComplete)
        #expect(result.messages.map(\.kind).prefix(2) == [.audio(Self.header), .audio(timed)])
        #expect(result.messages.map(\.body) == [body, body, Array("BODY".utf8)])
    }

    @Test(arguments: [UInt64(30)])
    func `random audio headers are written and read back`(seed: UInt64) {
        var random = SplitMix(seed: seed)
        var stream: [UInt8] = []
        var expected: [FrameMessageDecoder.Message] = []
        for _ in 0..<300 {
            let channels = Int.random(in: AudioHeader.channelCounts, using: &random)
            let header = AudioHeader(
                contentLength: 2 * channels * .random(in: 1...40, using: &random),
                kind: AudioKind.allCases.randomElement(using: &random) ?? .app,
                sampleRate: .random(in: AudioHeader.sampleRates, using: &random),
                channels: channels,
                timestamp: Bool.random(using: &random) ? random.next() : nil,
                sequence: Bool.random(using: &random) ? random.next() : nil
            )
            expected.append(.audio(header))
            #expect(header.encoded().count == header.encodedByteCount)
            stream += header.encoded() + [UInt8](repeating: 9, count: header.contentLength)
        }
        let whole = Transcript(of: stream)
        #expect(whole.messages.map(\.kind) == expected, "seed \(seed)")
        #expect(whole.error == nil && whole.areAllComplete)
        #expect(Transcript(of: stream, cutBefore: Array(stream.indices)) == whole, "seed \(seed)")
    }

    @Test(
        arguments: [(8_000, 1, 2), (192_000, 8, 256 << 10), (8_000, 8, 16), (192_000, 1, 256 << 10)]
    )
    func `the ends of every range of an audio header are accepted`(sampleRate: Int, channels: Int, length: Int) {
        let header = AudioHeader(contentLength: length, kind: .microphone, sampleRate: sampleRate, channels: channels)
        let whole = transcript(ofEverySplitOf: header.encoded())
        #expect(whole.messages.map(\.kind) == [.audio(header)])
        #expect(whole.error?.code == .bodyTruncated)
    }

    @Test(
        arguments: [
            wrong(.wordUnknown, "Audio-Kind", "music¦"),
            wrong(.wordUnknown, "Audio-Kind", "App¦"),
            wrong(.wordEmpty, "Audio-Kind", "¦"),
            wrong(.wordInvalid, "Audio-Kind", "app ¦app"),
            wrong(.wordInvalid, "Audio-Kind", "¦\"app\""),
            wrong(.wordTooLong, "Audio-Kind", String(repeating: "a", count: 32) + "¦a"),
            wrong(.wordEmpty, "Message-Type", "¦"),
            wrong(.wordInvalid, "Message-Type", "audio¦,status"),
            wrong(.wordTooLong, "Message-Type", String(repeating: "a", count: 32) + "¦a"),
            wrong(.numberOutOfRange, "Audio-Sample-Rate", "7999¦"),
            wrong(.numberOutOfRange, "Audio-Sample-Rate", "7999¦ "),
            wrong(.numberOutOfRange, "Audio-Sample-Rate", "19200¦1"),
            wrong(.numberInvalid, "Audio-Sample-Rate", "44¦.1"),
            wrong(.numberEmpty, "Audio-Sample-Rate", "¦"),
            wrong(.numberOutOfRange, "Audio-Channels", "0¦"),
            wrong(.numberOutOfRange, "Audio-Channels", "¦9"),
            wrong(.numberLeadingZero, "Audio-Channels", "0¦2"),
            wrong(.fieldDuplicate, "Audio-Channels", "2\r\nAudio-Channels¦: 2"),
            wrong(.fieldDuplicate, "Message-Type", "audio\r\nmessage-type¦: audio"),
            wrong(.fieldDuplicate, "Audio-Kind", "app\r\nAudio-Kind¦: app"),
            wrong(.fieldInvalidValue, "Audio-Kind", "ap¦\u{0}"),
        ]
    )
    func `a wrong value in an audio header is refused`(_ wireCase: WireCase) { wireCase.check() }

    @Test(
        arguments: [
            (.contentLengthInvalid, 0, 2), (.contentLengthInvalid, 1, 1), (.contentLengthInvalid, 6, 2),
            (.contentLengthInvalid, 14, 8), (.contentLengthTooLarge, (256 << 10) + 2, 1),
        ] as [(WireError.Code, Int, Int)]
    )
    func `an impossible length is refused at the header's end`(code: WireError.Code, length: Int, channels: Int) {
        let header = AudioHeader(contentLength: length, kind: .app, sampleRate: 8_000, channels: channels).encoded()
        let whole = transcript(ofEverySplitOf: Streams.good + header)
        #expect(whole.messages.count == 1)
        let offset = UInt64(Streams.good.count + header.count - 1)
        #expect(whole.error == WireError(code: code, byteOffset: offset, detail: "\(length)"))
    }

    @Test(arguments: [256 << 10, 32])
    func `the length of audio is limited, whatever the order of the fields`(limit: Int) {
        var limits = FrameMessageDecoder.Limits()
        if limit == 256 << 10 { #expect(limits.maximumAudioBytes == limit) }
        limits.maximumAudioBytes = limit
        for length in [limit, limit + 2] {
            let lines = ["Audio-Channels: 1", "Content-Length: \(length)", "Audio-Sample-Rate: 192000"]
            for order in [lines + Array(Self.lines[1...]), Array(Self.lines[1...]) + lines] {
                let result = transcript(ofEverySplitOf: Array(Streams.header(order).utf8), limits: limits)
                #expect(result.messages.count == (length == limit ? 1 : 0))
                #expect(result.error?.code == (length == limit ? .bodyTruncated : .contentLengthTooLarge))
            }
        }
        for absurd in [Int.min, -1, 0] {
            limits.maximumAudioBytes = absurd
            #expect(Transcript(of: Self.header.encoded(), limits: limits).error?.code == .contentLengthTooLarge)
        }
    }

    @Test(
        arguments: ["Content-Length", "Audio-Kind", "Audio-Sample-Rate", "Audio-Channels"]
    )
    func `a field that an audio header lacks is named at the header's end`(name: String) {
        let stream = Array(Self.text(replacing: name).utf8)
        let result = transcript(ofEverySplitOf: stream)
        #expect(result.messages.isEmpty)
        #expect(result.error == WireError(code: .fieldMissing, byteOffset: UInt64(stream.count - 9), detail: name))
    }

    @Test(
        arguments: ["Message-Type: audio", "MESSAGE-TYPE:\taudio ", "message-type:audio"]
    )
    func `the fields of a frame are ignored in an audio header`(type: String) {
        let frame = ["Buffer-Width: 16384", "Buffer-Height: 16384", "Buffer-Orientation: 8"]
        let lines = frame + Self.format + [Self.lines[0], Self.lines[2], type, "Pong-Number: 3"]
        let stream = Array((Streams.header(lines) + "PCMPCMPC").utf8)
        let result = transcript(ofEverySplitOf: stream + Streams.good + stream)
        #expect(result.error == nil)
        #expect(
            result.messages.map(\.kind) == [
                .audio(Self.header), Transcript(of: Streams.good).messages[0].kind, .audio(Self.header),
            ]
        )
        WireCase(.dimensionZero, stream: Self.text(with: "Buffer-Width: 0¦")).check()
    }

    @Test(arguments: [-1, 0, 1])
    func `an audio header is appended if there is room for all of it`(beyond: Int) {
        let status = SenderStatus(state: .live)
        for count in [Self.header.encodedByteCount, status.encodedByteCount] {
            var isWritten = false
            let bytes = [UInt8](capacity: count + beyond) { output in
                while output.freeCapacity > count + beyond { output.append(0) }
                isWritten =
                    count == status.encodedByteCount ? status.encode(into: &output) : Self.header.encode(into: &output)
            }
            #expect(isWritten == (beyond >= 0))
            #expect(bytes.contains(UInt8(ascii: "H")) == (beyond >= 0))
        }
    }
}
