import FrameWire
import TestDescriptions
import Testing

@Suite("Requests that are skipped, and what is written", .tags(.computes))
struct RequestTests {
    @Test(
        arguments: [
            ("", ""), ("nope", "nope"), ("HELLO", "HELLO"), ("ping/2?x=y", "ping/2?x=y"), ("pingg", "pingg"),
            (String(repeating: "n", count: 32), String(repeating: "n", count: 32)),
            (String(repeating: "n", count: 33), String(repeating: "n", count: 32) + "..."),
        ]
    )
    func `a request with an unknown name is skipped by its length`(name: String, excerpt: String) {
        let good = Streams.good(.requests)
        let lines = ["Content-Length: 5", "Ping-Number: x", "Ping-Number:"]
        let stream = (Streams.header(lines, start: Streams.start(.requests, name: name)) + "POST ").bytes
        let result = transcript(ofEverySplitOf: good + stream + good, .requests)
        let skipped = SkippedRequest(name: excerpt, reason: .unknown, byteOffset: UInt64(good.count))
        #expect(result.error == nil && result.items == [.request(.ping(7)), .skipped(skipped), .request(.ping(7))])
        #expect(result.entries.map(\.body.count) == [4, 5, 4])
    }

    @Test func `the first fault of a request counts, and a missing field only if nothing else is wrong`() {
        for (name, lines) in [
            ("ping", ["Ping-Number: ¦x", "Ping-Number: 0x"]), ("hello", ["Wants-Audio: ¦yes", "Shared-Memory: 0"]),
        ] {
            let text = Streams.header(
                ["Content-Length: 0"] + lines,
                start: Streams.start(.requests, name: name)
            )
            WireCase(.numberInvalid, .requests, stream: text).checkIsSkipped(name: name)
        }
        let half = Streams.header(
            ["Content-Length: 0", "Prefer-Width: 4"],
            start: Streams.start(.requests, name: "prefer")
        )
        WireCase(.fieldMissing, .requests, stream: half.markedAtEnd).checkIsSkipped(name: "prefer")
    }

    @Test func `what was skipped says so in a sentence`() {
        let unknown = SkippedRequest(name: "nope", reason: .unknown, byteOffset: 3)
        #expect("\(unknown)" == "Unknown request, \"nope\", at byte 3" && !unknown.isPreference)
        let malformed = SkippedRequest(name: "prefer", reason: .malformed(.numberInvalid), byteOffset: 9)
        let sentence = "In request \"prefer\": Value is not a plain decimal number at byte 9 (number.invalid)"
        #expect("\(malformed)" == sentence && malformed.isPreference)
    }

    @Test func `negative numbers are written as 0`() {
        let size = BufferSize(width: -1, height: .min)
        let preferences = ControlRequest.Preferences(frameRateInMillihertz: -5, size: size, quality: -1, byteRate: -1)
        let lines = [
            "Content-Length: 0", "Prefer-Frame-Rate: 0", "Prefer-Width: 0", "Prefer-Height: 0", "Prefer-Quality: 0",
            "Prefer-Byte-Rate: 0",
        ]
        let prefer = Streams.header(lines, start: Streams.start(.requests, name: "prefer"))
        #expect(ControlRequest.prefer(preferences).encoded() == prefer.bytes)
        let release = Streams.header(
            ["Content-Length: 0", "Shared-Buffer: 0"],
            start: Streams.start(.requests, name: "release")
        )
        #expect(ReleaseRequest(buffer: -3).encoded() == release.bytes)
        let frame = FrameHeader(contentLength: .min, info: FrameInfo(bufferSize: size))
        let zero = FrameHeader(contentLength: 0, info: FrameInfo(bufferSize: BufferSize(width: 0, height: 0)))
        #expect(frame.encoded() == zero.encoded())
    }

    @Test(
        arguments: [
            (29.97, 29_970), (0.0001, 1), (0, 1), (-3, 1), (0.0015, 2), (60, 60_000), (999.9999, 1_000_000),
            (1e300, 1_000_000), (.infinity, 1_000_000), (-.infinity, 1), (.nan, nil), (nil, nil),
        ] as [(Double?, Int?)]
    )
    func `a rate in frames a second is rounded to what the wire has`(rate: Double?, millihertz: Int?) {
        var preferences = ControlRequest.Preferences(frameRateInMillihertz: 5)
        var info = ControlRequest.SessionInfo()
        #expect(preferences.frameRate == 0.005)
        (preferences.frameRate, info.frameRate) = (rate, rate)
        #expect(preferences.frameRateInMillihertz == millihertz && info.frameRateInMillihertz == millihertz)
    }
}
