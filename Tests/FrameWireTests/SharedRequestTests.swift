import FrameWire
import TestDescriptions
import TestSupport
import Testing

/// The requests about shared memory: `Shared-Memory` in a hello, `release` and `decline`.
@Suite(.tags(.computes)) struct SharedRequestTests {
    private static func hello(_ sharedMemory: Int?) -> ControlRequest {
        .hello(ControlRequest.Hello(sharedMemory: sharedMemory))
    }

    private static let helloLines = ["Control-Version: 1", "Wants-Pictures: 1", "Wants-Audio: 0"]

    @Test(
        arguments: [
            (hello(nil), "hello", helloLines),
            (hello(1), "hello", helloLines + ["Shared-Memory: 1"]),
            (hello(ControlRequest.Hello.sharedMemoryVersion), "hello", helloLines + ["Shared-Memory: 1"]),
            (hello(9_999), "hello", helloLines + ["Shared-Memory: 9999"]),
            (.decline, "decline", []),
        ] as [(ControlRequest, String, [String])]
    )
    func `every hello and decline is written byte for byte and read back`(
        request: ControlRequest,
        name: String,
        lines: [String]
    ) {
        let bytes = request.encoded()
        #expect(String(decoding: bytes, as: UTF8.self) == Requests.text(name, ["Content-Length: 0"] + lines))
        #expect(bytes.count == request.encodedByteCount && request.name == name)
        let result = controlTranscript(ofEverySplitOf: bytes + Requests.good + bytes)
        #expect(result.requests == [request, .ping(7), request])
        #expect(result.error == nil && result.skipped.isEmpty)
    }

    @Test(arguments: SharedFrameHeader.Buffer.indices)
    func `every release is written byte for byte and read back`(buffer: Int) {
        let release = ReleaseRequest(buffer: buffer)
        let bytes = release.encoded()
        let text = Requests.text("release", ["Content-Length: 0", "Shared-Buffer: \(buffer)"])
        #expect(String(decoding: bytes, as: UTF8.self) == text)
        let result = controlTranscript(ofEverySplitOf: bytes + Requests.good + bytes)
        #expect(result.events == [.release(release), .request(.ping(7)), .release(release)] && result.error == nil)
    }

    @Test(arguments: [UInt64(58), 59]) func `random requests of all kinds are written and read back`(seed: UInt64) {
        var random = SplitMix(seed: seed)
        var (stream, events) = ([UInt8](), [ControlDecoder.Event]())
        func add(_ request: ControlRequest) {
            stream += request.encoded()
            events.append(.request(request))
        }
        for _ in 0..<500 {
            switch Int.random(in: 0...3, using: &random) {
            case 0: add(Self.hello(Bool.random(using: &random) ? .random(in: 1...9_999, using: &random) : nil))
            case 1:
                let release = ReleaseRequest(buffer: .random(in: SharedFrameHeader.Buffer.indices, using: &random))
                stream += release.encoded()
                events.append(.release(release))
            case 2: add(.decline)
            default: add(ControlRequestTests.request(&random))
            }
        }
        let whole = ControlTranscript(of: stream)
        #expect(whole.events == events && whole.error == nil, "seed \(seed)")
        #expect(ControlTranscript(of: stream, cutBefore: Array(stream.indices)) == whole, "seed \(seed)")
    }

    @Test(arguments: [
        ControlCase(.numberOutOfRange, "hello", "Control-Version: 1", "Shared-Memory: 0¦"),
        ControlCase(.numberOutOfRange, "hello", "Control-Version: 1", "Shared-Memory: 1000¦0"),
        ControlCase(.numberInvalid, "hello", "Control-Version: 1", "Shared-Memory: ¦yes"),
        ControlCase(.numberEmpty, "hello", "Control-Version: 1", "Shared-Memory:¦"),
        ControlCase(.fieldDuplicate, "hello", "Control-Version: 1", "Shared-Memory: 1", "shared-memory¦: 1"),
    ])
    func `a hello with a wrong version for shared memory is skipped`(_ controlCase: ControlCase) {
        controlCase.checkIsSkipped(name: "hello")
    }

    @Test(arguments: [
        ControlCase(.fieldMissing, stream: "POST /release HTTP/1.1\r\nContent-Length: 0\r\n\r¦\n"),
        ControlCase(.numberOutOfRange, "release", "Shared-Buffer: ¦8"),
        ControlCase(.numberOutOfRange, "release", "Shared-Buffer: 1¦0"),
        ControlCase(.numberOutOfRange, "release", "Shared-Buffer: ¦99999999999999999999"),
        ControlCase(.numberInvalid, "release", "Shared-Buffer: ¦-1"),
        ControlCase(.numberInvalid, "release", "Shared-Buffer: 1¦, 2"),
        ControlCase(.numberEmpty, "release", "Shared-Buffer:¦"),
        ControlCase(.numberLeadingZero, "release", "Shared-Buffer: 0¦1"),
        ControlCase(.fieldDuplicate, "release", "Shared-Buffer: 1", "Shared-Buffer¦: 2"),
    ])
    func `a release without a buffer, or of a wrong one, is skipped`(_ controlCase: ControlCase) {
        controlCase.checkIsSkipped(name: "release")
    }

    @Test(arguments: [
        [], ["Shared-Buffer: 8", "Shared-Memory: 0"], ["Reason: no room", "Reason: still none", "X:"],
    ])
    func `a decline is understood whatever other fields it has`(lines: [String]) {
        let bytes = Array(Requests.text("decline", ["Content-Length: 0"] + lines).utf8)
        let result = controlTranscript(ofEverySplitOf: bytes + Requests.good)
        #expect(result.requests == [.decline, .ping(7)])
        #expect(result.error == nil && result.skipped.isEmpty)
    }

    @Test func `a release and a decline may have a body, which is ignored`() {
        let release = Requests.text("release", ["Content-Length: 3", "Shared-Buffer: 1"]) + "abc"
        let decline = Requests.text("decline", ["Content-Length: 5"]) + "POST "
        let result = controlTranscript(ofEverySplitOf: Array((release + decline).utf8) + Requests.good)
        #expect(result.events == [.release(ReleaseRequest(buffer: 1)), .request(.decline), .request(.ping(7))])
        #expect(result.error == nil)
    }

    @Test(arguments: ["pause", "ping", "prefer"])
    func `the fields of hellos and releases have no meaning in other requests`(name: String) {
        let lines = ["Content-Length: 0", "Ping-Number: 7", "Shared-Memory: x", "Shared-Buffer: 8", "Shared-Buffer:"]
        let result = controlTranscript(ofEverySplitOf: Array(Requests.text(name, lines).utf8))
        #expect(result.requests.map(\.name) == [name])
        #expect(result.error == nil && result.skipped.isEmpty)
    }

    @Test func `a negative number is written as 0`() {
        let text = String(decoding: ReleaseRequest(buffer: -3).encoded(), as: UTF8.self)
        #expect(text == Requests.text("release", ["Content-Length: 0", "Shared-Buffer: 0"]))
    }
}
