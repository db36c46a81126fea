import FrameSocket
import TestSupport
import Testing

/// What the configuration of an uploader, and its changes, do to the frames that arrive.
@Suite struct UploaderConfigurationTests {
    /// A frame's worth of nanoseconds at 60 Hz.
    private let step: UInt64 = 16_666_667

    private func image(_ value: UInt8, width: Int = 32, height: Int = 16) throws -> PixelBuffer {
        var image = try PixelBuffer(width: width, height: height, format: .bgra)
        try image.withMutablePlane(0) { for index in $0.indices { $0[index] = value } }
        return image
    }

    @Test func `unchanged frames cost nothing`() async throws {
        let wire = try await SharedPair(
            try TemporaryDirectory(),
            .init(pacing: .everyFrame.skippingUnchanged(keepAlive: .seconds(1000))),
            accepts: false
        )
        for (index, value) in [7, 7, 7, 8, 8, 7].enumerated() {
            #expect(wire.uploader.send(try image(UInt8(value)), timestamp: UInt64(index) * step) == .taken)
            try await wire.uploader.finish()
        }
        #expect(wire.uploader.statistics.drops == [.unchanged: 3] && wire.uploader.statistics.sent == 3)
        // In another orientation it goes again, whatever the clock of its source says.
        let later = 6 * step + 1_000_000_000_000
        wire.uploader.send(try image(7), timestamp: later)
        try await wire.uploader.finish()
        wire.uploader.send(try image(7), orientation: .left, timestamp: later + 1)
        try await wire.uploader.finish()
        #expect(wire.uploader.statistics.drops == [.unchanged: 4] && wire.uploader.statistics.sent == 4)
    }

    /// Shows P79.
    @Test func `the configuration can change while frames are sent`() async throws {
        // Its JPEG is far over the size to which bodies are padded.
        var random = SplitMix(seed: 1)
        var image = try PixelBuffer(width: 320, height: 180, format: .bgra)
        try image.withMutablePlane(0) { for i in $0.indices { $0[i] = .random(in: 0...255, using: &random) } }
        var wire = try await SharedPair(try TemporaryDirectory(), .init(quality: 90), accepts: false)
        wire.uploader.send(image, timestamp: 0)
        let first = try await wire.next()
        try await wire.uploader.finish()
        wire.uploader.update { configuration in
            configuration.quality = 10
            configuration.scale = .fit(width: 160, height: 90)
            configuration.pacing = .every(2)
            configuration.sendsTiming = false
        }
        #expect(wire.uploader.configuration.quality == 10)
        #expect(wire.uploader.send(image, timestamp: 1) == .deferred(.paced))
        #expect(wire.uploader.send(image, timestamp: 2) == .taken)
        let second = try await wire.next()
        #expect(first.bufferSize == BufferSize(width: 320, height: 180))
        #expect(first.sequence == 0)
        #expect(second.bufferSize == BufferSize(width: 160, height: 90))
        #expect(second.sequence == nil)
        #expect(second.bytes.count < first.bytes.count)
    }

    // MARK: Sizes of JPEGs

    @Test(arguments: [
        (SampleUploader.OutputScale.full, 640, 400), (.half, 320, 200), (.fit(width: 100, height: 100), 100, 62),
        (.width(72), 72, 46),
        (.fill(width: 60, height: 60), 60, 60), (.letterbox(width: 100, height: 100), 100, 100),
    ])
    func `a JPEG is sent at a smaller size`(scale: SampleUploader.OutputScale, width: Int, height: Int) async throws {
        for subsampling in [ChromaSubsampling.yuv420, .yuv444, .gray] {
            let image = try OutputPixelTests.gradient(.rgb, width: 640, height: 400)
            let jpeg: [UInt8] = try JPEGEncoder(quality: 95, subsampling: subsampling).encode(image)
            var wire = try await SharedPair(try TemporaryDirectory(), .init(quality: 95, scale: scale), accepts: false)
            #expect(wire.uploader.send(resizing: FrameBytes(jpeg)) == .taken)
            let frame = try await wire.next()
            #expect(frame.bufferSize == BufferSize(width: width, height: height))
            let expected = try JPEGDecoder().decode(jpeg.span, as: .rgb)
                .applying(scale.plan(forWidth: 640, height: 400))
            let found = try FrameDecoder().decode(frame, as: .rgb).image
            #expect(try found.peakSignalToNoiseRatio(against: expected) > 25)
            // What keeps its size is not encoded again.
            if scale == .full { #expect(frame.bytes.starts(with: jpeg)) }
        }
    }

    @Test func `bytes that are not a JPEG are dropped`() async throws {
        let wire = try await SharedPair(try TemporaryDirectory(), .init(), accepts: false)
        let outcome = wire.uploader.send(resizing: FrameBytes(copying: [1, 2, 3].span))
        #expect(outcome == .dropped(.encodingFailed))
        #expect(wire.uploader.statistics.lastEncodingError?.code == .notJPEG)
        #expect(wire.uploader.statistics.dropped == 1)
    }
}
