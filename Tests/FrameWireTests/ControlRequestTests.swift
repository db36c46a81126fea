import FrameWire
import TestDescriptions
import TestSupport
import Testing

@Suite("Requests: encoding and decoding", .tags(.computes))
struct ControlRequestTests {
    static let everything = ControlRequest.Preferences(
        frameRateInMillihertz: 29_970,
        size: BufferSize(width: 720, height: 1_280),
        quality: 80
    )

    @Test(
        arguments: [
            (.hello(ControlRequest.Hello()), "hello", ["Control-Version: 1", "Wants-Pictures: 1", "Wants-Audio: 0"]),
            (
                .hello(ControlRequest.Hello(version: 9_999, wants: [.frames, .audio])),
                "hello", ["Control-Version: 9999", "Wants-Pictures: 1", "Wants-Audio: 1"]
            ),
            (
                .hello(ControlRequest.Hello(wants: [])), "hello",
                ["Control-Version: 1", "Wants-Pictures: 0", "Wants-Audio: 0"]
            ),
            (.pause, "pause", []),
            (.resume, "resume", []),
            (.stop(.callEnded), "stop", ["Finish-Reason: 10006"]),
            (
                .prefer(everything), "prefer",
                ["Prefer-Frame-Rate: 29970", "Prefer-Width: 720", "Prefer-Height: 1280", "Prefer-Quality: 80"]
            ),
            (
                .prefer(
                    ControlRequest.Preferences(
                        frameRateInMillihertz: 1_000_000,
                        size: BufferSize(width: 16_384, height: 1),
                        quality: 100
                    )
                ), "prefer",
                ["Prefer-Frame-Rate: 1000000", "Prefer-Width: 16384", "Prefer-Height: 1", "Prefer-Quality: 100"]
            ),
            (.prefer(ControlRequest.Preferences(frameRateInMillihertz: 1)), "prefer", ["Prefer-Frame-Rate: 1"]),
            (.prefer(ControlRequest.Preferences(quality: 1)), "prefer", ["Prefer-Quality: 1"]),
            (.prefer(ControlRequest.Preferences(byteRate: 1)), "prefer", ["Prefer-Byte-Rate: 1"]),
            (
                .prefer(ControlRequest.Preferences(quality: 40, byteRate: 9_999_999_999)), "prefer",
                ["Prefer-Quality: 40", "Prefer-Byte-Rate: 9999999999"]
            ),
            (.prefer(ControlRequest.Preferences()), "prefer", []),
            (.refresh, "refresh", []),
            (.ping(0), "ping", ["Ping-Number: 0"]),
            (.ping(.max), "ping", ["Ping-Number: 18446744073709551615"]),
        ] as [(ControlRequest, String, [String])]
    )
    func `every request is written byte for byte as specified`(
        request: ControlRequest,
        name: String,
        lines: [String]
    ) {
        let bytes = request.encoded()
        #expect(String(decoding: bytes, as: UTF8.self) == Requests.text(name, ["Content-Length: 0"] + lines))
        #expect(bytes.count == request.encodedByteCount)
        #expect(request.name == name)
        let result = controlTranscript(ofEverySplitOf: bytes + bytes)
        #expect(result.requests == [request, request])
        #expect(result.error == nil && result.skipped.isEmpty)
    }

    @Test(arguments: [UInt64(10), 11])
    func `random requests are written and read back`(seed: UInt64) {
        var random = SplitMix(seed: seed)
        let requests = (0..<500).map { _ in Self.request(&random) }
        let stream = requests.flatMap { $0.encoded() }
        let whole = ControlTranscript(of: stream)
        #expect(whole.requests == requests, "seed \(seed)")
        #expect(whole.error == nil && whole.skipped.isEmpty, "seed \(seed)")
        #expect(ControlTranscript(of: stream, cutBefore: Array(stream.indices)) == whole, "seed \(seed)")
    }

    /// Some request that a decoder takes.
    static func request(_ random: inout SplitMix) -> ControlRequest {
        switch Int.random(in: 0...6, using: &random) {
        case 0:
            let wants = ControlRequest.Wants(rawValue: .random(in: 0...3, using: &random))
            return .hello(ControlRequest.Hello(version: .random(in: 1...9_999, using: &random), wants: wants))
        case 1: return .pause
        case 2: return .resume
        case 3: return .stop(ControlRequest.FinishReason.allCases.randomElement(using: &random) ?? .error)
        case 4:
            let (width, height) = (Int.random(in: 1...16_384, using: &random), Int.random(in: 1...99, using: &random))
            return .prefer(
                ControlRequest.Preferences(
                    frameRateInMillihertz: Bool.random(using: &random)
                        ? .random(in: 1...1_000_000, using: &random) : nil,
                    size: Bool.random(using: &random) ? BufferSize(width: width, height: height) : nil,
                    quality: Bool.random(using: &random) ? .random(in: 1...100, using: &random) : nil,
                    byteRate: Bool.random(using: &random) ? .random(in: 1...9_999_999_999, using: &random) : nil
                )
            )
        case 5: return .refresh
        default: return .ping(random.next() >> UInt64.random(in: 0..<64, using: &random))
        }
    }

    @Test(arguments: [-1, 0, 1, 300])
    func `a request is appended if there is room for all of it`(beyond: Int) {
        let request = ControlRequest.prefer(Self.everything)
        var isWritten = false
        let bytes = [UInt8](capacity: 3 + request.encodedByteCount + beyond) { output in
            for byte in [1, 2, 3] as [UInt8] { output.append(byte) }
            // A capacity is a lower bound: what the array has beyond it must not count here.
            while output.freeCapacity > request.encodedByteCount + beyond { output.append(0) }
            isWritten = request.encode(into: &output)
        }
        #expect(isWritten == (beyond >= 0))
        #expect(bytes.prefix(3) == [1, 2, 3])
        #expect(bytes.suffix(request.encodedByteCount).elementsEqual(request.encoded()) == (beyond >= 0))
    }

    @Test func `negative numbers are written as 0, which no decoder accepts`() {
        let size = BufferSize(width: -1, height: .min)
        let preferences = ControlRequest.Preferences(frameRateInMillihertz: -5, size: size, quality: -1, byteRate: -1)
        let text = String(decoding: ControlRequest.prefer(preferences).encoded(), as: UTF8.self)
        let lines = [
            "Prefer-Frame-Rate: 0", "Prefer-Width: 0", "Prefer-Height: 0", "Prefer-Quality: 0", "Prefer-Byte-Rate: 0",
        ]
        #expect(text == Requests.text("prefer", ["Content-Length: 0"] + lines))
        #expect(ControlTranscript(of: Array(text.utf8)).skipped.map(\.reason) == [.malformed(.numberOutOfRange)])
    }

    @Test(
        arguments: [
            (29.97, 29_970), (0.0001, 1), (0, 1), (-3, 1), (0.0015, 2), (60, 60_000), (999.9999, 1_000_000),
            (1e300, 1_000_000), (.infinity, 1_000_000), (-.infinity, 1), (.nan, nil), (nil, nil),
        ] as [(Double?, Int?)]
    )
    func `a rate in frames a second is rounded to what the wire has`(rate: Double?, millihertz: Int?) {
        var preferences = ControlRequest.Preferences(frameRateInMillihertz: 5)
        #expect(preferences.frameRate == 0.005)
        preferences.frameRate = rate
        #expect(preferences.frameRateInMillihertz == millihertz)
    }
}
