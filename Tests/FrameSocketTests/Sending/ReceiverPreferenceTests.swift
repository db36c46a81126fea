import FrameSocketTesting
import TestSupport
import Testing

@testable import FrameSocket

/// Whatever a receiver prefers, every image is sent: as near to the preference as it can be.
@Suite(.timeLimit(.minutes(5))) struct ReceiverPreferenceTests {
    @Test(arguments: UInt64(2_000)..<2_080) func `no preference makes the encoder fail`(seed: UInt64) throws {
        var example = try PixelPropertyTests.Case(seed)
        var preferences = ControlRequest.Preferences()
        // What the wire can say.
        if Bool.random(using: &example.random) {
            preferences.size = BufferSize(width: example.side(upTo: 16_384), height: example.side(upTo: 16_384))
        }
        if Bool.random(using: &example.random) { preferences.quality = Int.random(in: 1...100, using: &example.random) }
        if Bool.random(using: &example.random) {
            preferences.frameRateInMillihertz = Int.random(in: 1...1_000_000, using: &example.random)
        }
        let own = SampleUploader.Configuration(
            scale: PixelPropertyTests.scale(&example),
            subsampling: try #require(ChromaSubsampling.allCases.randomElement(using: &example.random)),
            appliesOrientation: Bool.random(using: &example.random)
        )
        let orientation = try #require(FrameOrientation.allCases.randomElement(using: &example.random))
        let configuration = own.preferring(preferences)
        let sent = try FrameEncoder().encode(.pixels(example.image), orientation, configuration)
        let found = try JPEGHeader(inspecting: sent.jpeg.array().span)
        #expect(BufferSize(width: found.width, height: found.height) == sent.bufferSize)
        if let box = preferences.size {
            let (long, short) = (max(box.width, box.height), min(box.width, box.height))
            #expect(
                max(found.width, found.height) <= long && min(found.width, found.height) <= short,
                "\(example.name)"
            )
        }
        // The program's own size is the most.
        let most = try FrameEncoder().encode(.pixels(example.image), orientation, own).bufferSize
        #expect(
            max(found.width, found.height) <= max(most.width, most.height)
                && min(found.width, found.height) <= min(most.width, most.height),
            "\(example.name)"
        )
    }

    @Test func `a receiver's size shrinks what the program sends, and enlarges nothing`() {
        typealias Scale = SampleUploader.OutputScale
        let rows: [(own: Scale, preferred: (Int, Int), sent: (Int, Int))] = [
            (.fraction(numerator: 1, denominator: 4), (1920, 1080), (480, 270)),
            (.fraction(numerator: 1, denominator: 4), (320, 320), (320, 180)),
            (.fraction(numerator: 1, denominator: 4), (1080, 1920), (480, 270)),
            (.width(640), (1280, 720), (640, 360)),
            (.width(640), (100, 720), (178, 100)),
            (.fit(width: 640, height: 360), (1920, 1080), (640, 360)),
            (.letterbox(width: 500, height: 500), (1920, 1080), (500, 500)),
            (.letterbox(width: 500, height: 500), (320, 320), (320, 180)),
            (.fill(width: 300, height: 300), (200, 300), (300, 168)),
            (.full, (640, 640), (640, 360)),
        ]
        for (own, (width, height), sent) in rows {
            let scale = own.preferring(BufferSize(width: width, height: height))
            let canvas = scale.plan(forWidth: 1920, height: 1080).canvas
            #expect((canvas.width, canvas.height) == sent, "\(own) \(width)x\(height): \(canvas)")
        }
    }

    /// The fields of a `prefer` that no sender can follow, or that say nothing.
    static let impossible = [
        "Prefer-Width: 0\r\nPrefer-Height: 0", "Prefer-Width: 16385\r\nPrefer-Height: 1",
        "Prefer-Width: 1\r\nPrefer-Height: 16385", "Prefer-Width: 640", "Prefer-Height: 640", "Prefer-Quality: 0",
        "Prefer-Quality: 101", "Prefer-Quality: -1", "Prefer-Quality: high", "Prefer-Quality: 99999999999999999999",
        "Prefer-Frame-Rate: 0", "Prefer-Frame-Rate: 1000001", "Prefer-Quality: 50\r\nPrefer-Quality: 60",
    ]

    /// Shows P25.
    @Test(arguments: impossible)
    func `a preference that cannot be followed changes nothing and is answered by a status`(
        fields: String
    )
        async throws
    {
        let receiver = try RawReceiver(.init(quality: 77))
        let visit = try await receiver.accept()
        try await visit.ask(.helloForImages)
        try await visit.socket.write(Array("POST /prefer HTTP/1.1\r\nContent-Length: 0\r\n\(fields)\r\n\r\n".utf8))
        try await visit.ask(.ping(1))
        // The answer to the ping may stand for the refusal as well.
        let answer = try #require(try await soon { try await visit.socket.nextMessage { $0.pong == 1 } } ?? nil)
        #expect(answer.field("Refused-Preferences") == "1")
        #expect(receiver.uploader.configuration.quality == 77 && receiver.uploader.configuration.scale == .full)
        receiver.uploader.send(try testImage(200, 120))
        #expect(try await visit.frame()?.width == 200)
        #expect(receiver.uploader.connection.isOpen)
    }

    /// Shows P48.
    @Test func `preferences received before the uploader exists apply from its first frame on`() async throws {
        let directory = try TemporaryDirectory()
        let listener = try PeerSocket.listening(at: directory.socket)
        let connection = directory.connection()
        try await connection.open(within: nil)
        let visit = RawReceiver.Visit(socket: try await listener.accepted())
        try await visit.ask(.helloForImages, .prefer(.init(size: BufferSize(width: 16, height: 16), quality: 1)))
        _ = try await visit.framesBeforePong(1)
        let uploader = SampleUploader(connection: connection)
        uploader.send(try testImage(200, 120))
        #expect(try await visit.frame()?.width == 16)
        #expect(uploader.configuration.quality == 1)
    }
}
