import FrameTransport
import TestSupport
import Testing

@testable import FrameSocket

/// Settings at values that nobody should choose: each counts as its documentation says, and none traps, hangs or makes
/// every frame fail.
@Suite(.timeLimit(.minutes(5))) struct AbsurdSettingTests {
    struct Setting: Sendable, CustomTestStringConvertible {
        let testDescription: String
        /// The size and quality in which an image of 64x48 pixels is sent; nil if it is outside the limits.
        let sent: (width: Int, height: Int, quality: Int)?
        let set: @Sendable (inout SampleUploader.Configuration) -> Void

        init(
            _ name: String,
            _ sent: (Int, Int, Int)? = (64, 48, 80),
            _ set: @escaping @Sendable (inout SampleUploader.Configuration) -> Void
        ) {
            (testDescription, self.sent, self.set) = (name, sent, set)
        }
    }

    static let qualities = [(Int.min, 1), (-1, 1), (0, 1), (101, 100), (500, 100), (.max, 100)].map { value, nearest in
        Setting("quality \(value)", (64, 48, nearest)) { $0.quality = value }
    }

    static let scales: [Setting] = [
        Setting("a box of 0x0") { $0.scale = .fit(width: 0, height: 0) },
        Setting("a box without height") { $0.scale = .fit(width: 32, height: 0) },
        Setting("a box of negative sides") { $0.scale = .fit(width: -32, height: .min) },
        Setting("a box without limits") { $0.scale = .fit(width: .max, height: .max) },
        Setting("a letterbox of 0x0") { $0.scale = .letterbox(width: 0, height: 0) },
        Setting("a box of 0x0 to fill") { $0.scale = .fill(width: 0, height: 0) },
        Setting("a width of 0") { $0.scale = .width(0) },
        Setting("a negative width") { $0.scale = .width(.min) },
        Setting("a width without limit") { $0.scale = .width(.max) },
        Setting("a fraction of 0") { $0.scale = .fraction(numerator: 0, denominator: 2) },
        Setting("a fraction by 0") { $0.scale = .fraction(numerator: 1, denominator: 0) },
        Setting("a negative fraction") { $0.scale = .fraction(numerator: -1, denominator: 2) },
        Setting("a fraction above 1") { $0.scale = .fraction(numerator: 3, denominator: 2) },
        Setting("the smallest fraction", (1, 1, 80)) { $0.scale = .fraction(numerator: 1, denominator: .max) },
    ]

    static let rates = [
        0, -1, .nan, .infinity, -.infinity, Double.greatestFiniteMagnitude, .leastNonzeroMagnitude,
    ].flatMap { (rate: Double) -> [Setting] in
        [
            Setting("\(rate) frames per second") { $0.pacing = .framesPerSecond(rate) },
            Setting("\(rate) frames per second, adaptive") {
                $0.pacing = .adaptive(still: rate, motion: rate)
            },
        ]
    }

    static let counts = [Int.min, -1, 0, .max].map { (count: Int) -> Setting in
        Setting("every \(count)th frame") { $0.pacing = .every(count) }
    }

    static let times = [Duration.seconds(Int64.min), .seconds(-1), .zero, .seconds(Int64.max)].map {
        (time: Duration) -> Setting in
        Setting("a sign of life every \(time)") { $0.pacing = .everyFrame.skippingUnchanged(keepAlive: time) }
    }

    static let limits = [Int.min, -1, 0].flatMap { (limit: Int) -> [Setting] in
        [
            Setting("pixels up to \(limit)", nil) { $0.limits.maximumPixels = limit },
            Setting("sides up to \(limit)", nil) { $0.limits.maximumDimension = limit },
        ]
    }

    @Test(arguments: qualities + scales + rates + counts + times + limits)
    func `a frame is sent as the nearest sensible setting would, or its caller is told why not`(
        _ setting: Setting
    ) throws {
        var configuration = SampleUploader.Configuration()
        setting.set(&configuration)
        var rig = ImageRig(configuration)
        let image = FrameContent.pixels(try testImage(64, 48))
        let outcome = rig.offer(image)
        guard let (width, height, quality) = setting.sent else { return #expect(outcome == .dropped(.outsideLimits)) }
        let sent = try #require(rig.messages.last)
        #expect(outcome == .taken && sent.bufferSize == BufferSize(width: width, height: height))
        // The same bytes, where the size is the same: the same quality.
        guard width == 64 else { return }
        let expected = try FrameEncoder().encode(image, .up, SampleUploader.Configuration(quality: quality))
        #expect(sent.jpeg.array() == expected.jpeg.array())
    }

    @Test func `a quality reads as the one that applies, however it is set`() async throws {
        #expect(SampleUploader.Configuration(quality: 0).quality == 1)
        #expect(SampleUploader.Configuration(quality: 500).quality == 100)
        let uploader = SampleUploader(connection: try TemporaryDirectory().connection())
        uploader.update { $0.quality = -3 }
        #expect(uploader.configuration.quality == 1)
    }

    @Test(arguments: [Duration.seconds(Int64.min), .seconds(-1), .zero, .nanoseconds(1), .seconds(Int64.max)])
    func `an absurd time of a connection traps nothing, and a finish reports what it did`(time: Duration) async throws {
        let sets: [(inout SocketConnection.Configuration) -> Void] = [
            { $0.retryInterval = time }, { $0.sendTimeout = time }, { $0.linger = time }, { $0.connectTimeout = time },
            { $0.handshakeTimeout = time },
        ]
        for set in sets {
            let directory = try TemporaryDirectory()
            let server = try directory.server()
            let connection = directory.connection(set)
            let uploader = SampleUploader(connection: connection)
            uploader.offer(1)
            try await uploader.settle()
            connection.close()
            _ = try await soon { try await connection.closed() }
            server.close()
        }
    }

    @Test(arguments: [Int.min, -1, 0, 1, .max])
    func `an absurd number of idle images or bytes costs only speed`(count: Int) throws {
        let pool = FrameBytes.Pool(maximumIdleBytes: count)
        for _ in 0..<3 { #expect(FrameBytes(copying: [1, 2, 3].span, pool: pool).array() == [1, 2, 3]) }
        let images = PixelBuffer.Pool(maximumIdleImages: count)
        for _ in 0..<3 { #expect(try images.buffer(width: 8, height: 8, format: .bgra).width == 8) }
    }
}
