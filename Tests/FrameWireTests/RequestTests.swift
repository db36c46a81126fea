import FrameWire
import TestDescriptions
import Testing

@Suite("Requests that are skipped, and what is written", .tags(.computes))
struct RequestTests {
    @Test(arguments: ["", "nope", "HELLO", "ping/2?x=y", "pingg", String(repeating: "n", count: 900)])
    func `a request with an unknown name is skipped by its length`(name: String) {
        let good = Streams.good(.requests)
        let lines = ["Content-Length: 5", "Ping-Number: x", "Ping-Number:"]
        let stream = (Streams.header(lines, start: Streams.start(.requests, name: name)) + "POST ").bytes
        let result = transcript(ofEverySplitOf: good + stream + good, .requests)
        let items: [Transcript.Item] = [.request(.ping(7)), .skipped(isPreference: false), .request(.ping(7))]
        #expect(result.error == nil && result.items == items)
    }

    @Test func `what a receiver says of what it discards is read`() {
        let discarded = Streams.header(["Content-Length: 0"], start: Streams.start(.requests, name: "discarded"))
        #expect(transcript(ofEverySplitOf: discarded.bytes, .requests).items == [.discarded])
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
        #expect(ControlRequest.encodedRelease(of: -3) == release.bytes)
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
