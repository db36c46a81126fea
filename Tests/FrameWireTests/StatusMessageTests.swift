import FrameWire
import TestDescriptions
import TestSupport
import Testing

@Suite("Status messages and messages of unknown kinds", .tags(.computes))
struct StatusMessageTests {
    private static func lines(_ more: String...) -> [String] { ["Content-Length: 0", "Message-Type: status"] + more }

    private static func refusing(_ status: SenderStatus, _ count: UInt64) -> SenderStatus {
        var status = status
        status.refusedPreferences = count
        return status
    }

    private static func wrong(_ code: WireError.Code, _ lines: String...) -> WireCase {
        WireCase(code, stream: Streams.header(["Content-Length: 0", "Message-Type: status"] + lines))
    }

    @Test(
        arguments: [
            (SenderStatus(state: .live), ["Sender-State: live", "Control-Version: 1"]),
            (
                SenderStatus(state: .paused, pong: .max, version: 9_999),
                ["Sender-State: paused", "Control-Version: 9999", "Pong-Number: 18446744073709551615"]
            ),
            (
                refusing(SenderStatus(state: .live, pong: 3), .max),
                [
                    "Sender-State: live", "Control-Version: 1", "Pong-Number: 3",
                    "Refused-Preferences: 18446744073709551615",
                ]
            ),
            (
                SenderStatus(state: .stopped(.superseded), pong: 0),
                ["Sender-State: stopped", "Finish-Reason: 10007", "Control-Version: 1", "Pong-Number: 0"]
            ),
        ]
    )
    func `every status is written byte for byte as specified`(status: SenderStatus, more: [String]) {
        let bytes = status.encoded()
        let lines = ["Content-Length: 0", "Message-Type: status"] + more
        #expect(String(decoding: bytes, as: UTF8.self) == Streams.header(lines))
        #expect(bytes.count == status.encodedByteCount)
        let result = transcript(ofEverySplitOf: bytes + Streams.good + bytes)
        #expect(result.error == nil && result.areAllComplete)
        let frame = Transcript(of: Streams.good).messages[0].kind
        #expect(result.messages.map(\.kind) == [.status(status), frame, .status(status)])
    }

    @Test(
        arguments: [
            wrong(.wordUnknown, "Control-Version: 1", "Sender-State: gone¦"),
            wrong(.wordUnknown, "Control-Version: 1", "Sender-State: Live¦"),
            wrong(.wordEmpty, "Control-Version: 1", "Sender-State: ¦"),
            wrong(.wordInvalid, "Control-Version: 1", "Sender-State: live¦;"),
            wrong(.numberOutOfRange, "Sender-State: live", "Control-Version: 0¦"),
            wrong(.numberOutOfRange, "Sender-State: live", "Control-Version: 1000¦0"),
            wrong(.finishReasonUnknown, "Sender-State: stopped", "Finish-Reason: 10000¦"),
            wrong(.finishReasonUnknown, "Sender-State: stopped", "Finish-Reason: 1001¦1"),
            wrong(.numberOverflow, "Sender-State: live", "Pong-Number: 1844674407370955161¦6"),
            wrong(.fieldDuplicate, "Sender-State: live", "Pong-Number: 1", "Pong-Number¦: 1"),
            WireCase(
                .contentLengthInvalid,
                stream: "HTTP/1.1 200 OK\r\nMessage-Type: status\r\nContent-Length: 1\r\nSender-State: live\r\n"
                    + "Control-Version: 1\r\n\r¦\nX"
            ),
            WireCase(
                .fieldMissing,
                stream: "HTTP/1.1 200 OK\r\nMessage-Type: status\r\nContent-Length: 0\r\nSender-State: stopped\r\n"
                    + "Control-Version: 1\r\n\r¦\n"
            ),
            WireCase(
                .fieldMissing,
                stream: "HTTP/1.1 200 OK\r\nMessage-Type: status\r\nContent-Length: 0\r\nSender-State: live\r\n\r¦\n"
            ),
            WireCase(
                .fieldMissing,
                stream: "HTTP/1.1 200 OK\r\nMessage-Type: status\r\nContent-Length: 0\r\nControl-Version: 1\r\n\r¦\n"
            ),
        ]
    )
    func `a wrong status is an error`(_ wireCase: WireCase) { wireCase.check() }

    @Test func `what one status says does not reach into the next message`() {
        let full = SenderStatus(state: .stopped(.callEnded), pong: 5, version: 3)
        let plain = SenderStatus(state: .paused)
        let stopped = Self.lines("Sender-State: stopped", "Control-Version: 1")
        let result = transcript(
            ofEverySplitOf: full.encoded() + plain.encoded() + AudioMessageTests.header.encoded()
                + Array("PCMPCMPC".utf8)
                + Streams.good + Array(Streams.header(stopped).utf8)
        )
        #expect(
            result.messages.map(\.kind) == [
                .status(full), .status(plain), .audio(AudioMessageTests.header),
                Transcript(of: Streams.good).messages[0].kind,
            ]
        )
        #expect(result.error?.code == .fieldMissing && result.error?.detail == "Finish-Reason")
    }

    /// Shows P34.
    @Test(
        arguments: [
            ["Message-Type: subtitles", "Content-Length: 4"],
            [
                "Content-Length: 4", "Buffer-Width: 562", "Buffer-Height: 1218", "Buffer-Orientation: 1",
                "Message-Type: x",
            ],
            ["Message-Type: Audio", "Content-Length: 4", "Audio-Channels: 8"],
            ["Message-Type: \(String(repeating: "k", count: 32))", "content-length:4"],
            ["Content-Length: 4", "Message-Type: frame", "Subtitle-Language: de"],
        ]
    )
    func `a message of an unknown kind is skipped by its length, and its body is reported as ranges`(lines: [String]) {
        let stream = Array((Streams.header(lines) + "HTTP").utf8)
        let result = transcript(ofEverySplitOf: Streams.good + stream + Streams.good)
        #expect(result.error == nil && result.areAllComplete)
        #expect(result.messages.map { $0.kind == .unknown } == [false, true, false])
        #expect(result.messages[1].body == Array("HTTP".utf8))
    }

    @Test func `a message of an unknown kind needs a length within the limit, and may have no body`() {
        let empty = Array(Streams.header(["Message-Type: x", "Content-Length: 0"]).utf8)
        let result = transcript(ofEverySplitOf: empty + Streams.good)
        #expect(result.error == nil && result.areAllComplete)
        #expect(result.messages.count == 2)
        WireCase(.fieldMissing, stream: "HTTP/1.1 200 OK\r\nMessage-Type: x\r\n\r¦\n").check()
        WireCase(
            .contentLengthTooLarge,
            stream: "HTTP/1.1 200 OK\r\nMessage-Type: x\r\nContent-Length: 3355443¦3\r\n\r\n"
        ).check()
    }

    @Test(arguments: [UInt64(31), 32])
    func `messages with random faults give the same result whole, halved and byte by byte`(seed: UInt64) {
        let telling = Array("\r\n: \t09148,-HTPCBcbXxAaMmSs\0\u{7F}".utf8) + [0x80, 0xFF]
        var random = SplitMix(seed: seed)
        var faults: Set<WireError.Code> = []
        for round in 0..<1_000 {
            let status = SenderStatus(
                state: Bool.random(using: &random) ? .paused : .stopped(.suspended),
                pong: random.next()
            )
            var stream = AudioMessageTests.header.encoded() + Array("PCMPCMPC".utf8) + status.encoded() + Streams.good
            stream.damage(with: telling, using: &random)
            let whole = stream.decodedHoweverCut("seed \(seed), round \(round)", using: &random) { stream, cuts in
                Transcript(of: stream, cutBefore: cuts)
            }
            if let error = whole.error { faults.insert(error.code) }
        }
        #expect(faults.count > 12, "the faults reach most of the decoder: \(faults)")
    }
}
