import FrameSocket
import TestSupport
import Testing

/// Frames outside the limits of receivers are dropped before they would end the connection.
@Suite(.timeLimit(.minutes(5))) struct OutsideLimitTests {
    /// Sizes at the default limits of a receiver, and beyond them.
    static let sizes = [
        (16_384, 1, true), (16_385, 1, false), (1, 16_384, true), (1, 16_385, false), (16_384, 2048, true),
        (16_384, 2049, false), (0, 5, false), (5, -1, false), (.max, .max, false), (.min, .min, false),
    ].map { (size: BufferSize(width: $0.0, height: $0.1), isAccepted: $0.2) }

    /// Shows P77.
    @Test(arguments: sizes, [false, true])
    func `a JPEG outside the limits of receivers is dropped, rotated or not, and one within them arrives`(
        size: (size: BufferSize, isAccepted: Bool),
        isRotated: Bool
    ) async throws {
        var wire = try await SharedPair(try TemporaryDirectory(), .init(appliesOrientation: isRotated), accepts: false)
        let orientation = isRotated && !size.isAccepted ? FrameOrientation.left : .up
        let jpeg = FrameBytes([1, 2, 3])
        let outcome = wire.uploader.send(jpeg: jpeg, bufferSize: size.size, orientation: orientation)
        #expect(outcome == (size.isAccepted ? .taken : .dropped(.outsideLimits)))
        try await wire.uploader.finish()
        wire.uploader.send(try testImage(10, 10))
        if size.isAccepted { #expect(try await wire.next().bufferSize == size.size) }
        #expect(try await wire.next().bufferSize == BufferSize(width: 10, height: 10))
    }

    /// Shows P77.
    @Test func `an image outside the limits of receivers is dropped, however it is submitted, and ends nothing`()
        async throws
    {
        let wide = try testImage(16_385, 1)
        var wire = try await SharedPair(try TemporaryDirectory(), .init(), accepts: false)
        let uploader = wire.uploader
        #expect(uploader.send(wide) == .dropped(.outsideLimits))
        #expect(uploader.send(copying: wide) == .dropped(.outsideLimits))
        let jpeg = FrameBytes(try JPEGEncoder(quality: 80).encode(wide))
        #expect(uploader.send(resizing: jpeg) == .dropped(.outsideLimits))
        let body = FrameBytes([UInt8](repeating: 0, count: 32 << 20 + 1))
        #expect(
            uploader.send(jpeg: body, bufferSize: BufferSize(width: 562, height: 1218)) == .dropped(.outsideLimits)
        )
        uploader.update { $0.scale = .letterbox(width: 20_000, height: 20) }
        #expect(uploader.send(try testImage(10, 10)) == .dropped(.outsideLimits))
        // Scaled, the wide image is within the limits.
        uploader.update { $0.scale = .half }
        #expect(uploader.send(wide) == .taken)
        #expect(try await wire.next().bufferSize == BufferSize(width: 8192, height: 1))
        // What only the encoder shows.
        uploader.update { $0.limits.maximumContentLength = 500 }
        #expect(uploader.send(try testImage(200, 200)) == .taken)
        await #expect(throws: TransportError.self) { try await uploader.finish() }
        #expect(uploader.statistics.drops == [.outsideLimits: 6])
        uploader.update { $0 = .init() }
        #expect(uploader.send(try testImage(10, 10)) == .taken)
        #expect(try await wire.next().bufferSize == BufferSize(width: 10, height: 10))
    }

    /// Shows P60.
    @Test func `a receiver that came under lower limits gets the latest frame when they are lifted, once`() throws {
        var configuration = SampleUploader.Configuration(usesStrips: false)
        var rig = ImageRig(configuration)
        try rig.send(.pixels(try testImage(64, 48)))
        configuration.limits.maximumDimension = 50
        rig.machine.update(configuration, at: rig.now)
        rig.change { $0.connection += 1 }
        for pacing in [SampleUploader.Pacing.every(2), .everyFrame] {
            configuration.pacing = pacing
            rig.update(configuration)
        }
        #expect(rig.messages.count == 1)
        configuration.limits = .init()
        for quality in [80, 70] {
            configuration.quality = quality
            rig.update(configuration)
        }
        #expect(rig.messages.map(\.info.sequence) == [0, 0])
    }

    /// Shows P303.
    @Test func `an image that only a smaller preference brought within the limits is kept`() throws {
        var configuration = SampleUploader.Configuration(usesStrips: false)
        configuration.limits.maximumDimension = 50
        var rig = ImageRig(configuration)
        rig.change { $0.preferences = .init(size: BufferSize(width: 32, height: 32)) }
        try rig.send(.pixels(try testImage(64, 48)))
        rig.change { $0.preferences = .init() }
        #expect(rig.messages.map(\.bufferSize.width) == [32])
        rig.change { $0.preferences = .init(size: BufferSize(width: 16, height: 16)) }
        #expect(rig.messages.map(\.bufferSize.width) == [32, 16])
        rig.change { $0.preferences = .init() }
        configuration.limits = .init()
        rig.update(configuration)
        #expect(rig.messages.map(\.bufferSize.width) == [32, 16, 64])
    }

    /// Shows P69.
    ///
    /// They show that the source is faster than it seemed, so its silence is noticed sooner.
    @Test func `the frame sent last is repeated in time although frames after it were outside the limits`() {
        var configuration = SampleUploader.Configuration()
        configuration.pacing = .everyFrame.skippingUnchanged(keepAlive: .seconds(1))
        configuration.limits.maximumContentLength = 1000
        var rig = UploaderRig(configuration)
        rig.run([.connect, .offer(1), .wait(600), .offer(2, shows: 1)])
        rig.run([.offer(3, bytes: 1001), .offer(4, bytes: 1001), .wait(500)])
        #expect(rig.outcomes == [.taken, .taken, .dropped(.outsideLimits), .dropped(.outsideLimits)])
        #expect(rig.submitted == [1, 1])
    }

    /// Shows P303.
    @Test func `an image stays if the limits exclude what was just made of it for another receiver`() throws {
        var configuration = SampleUploader.Configuration(usesStrips: false)
        var rig = ImageRig(configuration)
        rig.change { $0.preferences = .init(size: BufferSize(width: 16, height: 16)) }
        try rig.send(.pixels(try testImage(64, 48)))
        rig.change(settles: false) { $0.preferences = .init(size: BufferSize(width: 64, height: 64)) }
        let job = try rig.begin()
        configuration.limits.maximumDimension = 50
        rig.machine.update(configuration, at: rig.now)
        rig.end(job) { _ in ImageRig.jpeg(1) }
        #expect(rig.messages.map(\.bufferSize.width) == [16])
        rig.change { ($0.connection, $0.preferences) = (2, .init(size: BufferSize(width: 32, height: 32))) }
        #expect(rig.messages.map(\.bufferSize.width) == [16, 32])
        rig.change { $0.preferences = .init(size: BufferSize(width: 64, height: 64)) }
        configuration.limits = .init()
        rig.update(configuration)
        #expect(rig.messages.map(\.bufferSize.width) == [16, 32, 64])
    }
}
