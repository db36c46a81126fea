import TestSupport
import Testing

@testable import FrameSocket

@Suite struct RotationTests {
    @Test(arguments: FrameOrientation.allCases)
    func `a frame is rotated without loss`(_ orientation: FrameOrientation) async throws {
        let image = try OutputPixelTests.gradient(.bgra, width: 96, height: 64)
        var wire = try await SharedPair(try TemporaryDirectory(), .init(), accepts: false)
        wire.uploader.send(image, orientation: orientation, timestamp: 77)
        let frame = try await wire.next()
        let message = try frame.uprightJPEG()
        #expect(message.orientation == .up)
        #expect(message.timestamp == 77)
        #expect(message.sequence == frame.sequence)
        let size = orientation.swapsAxes ? BufferSize(width: 64, height: 96) : BufferSize(width: 96, height: 64)
        #expect(message.bufferSize == size)
        let found = try JPEGDecoder().decode(bytes: message.jpeg.array(), as: .gray)
        let expected = try FrameDecoder(isUpright: true).decode(frame, as: .gray).image
        #expect(try found.peakSignalToNoiseRatio(against: expected) > 50)
    }

    @Test func `partial blocks are cut, refused or kept`() async throws {
        let image = try OutputPixelTests.gradient(.bgra, width: 100, height: 70)
        var wire = try await SharedPair(try TemporaryDirectory(), .init(), accepts: false)
        wire.uploader.send(image, orientation: .down)
        let frame = try await wire.next()
        #expect(try frame.uprightJPEG().bufferSize == BufferSize(width: 96, height: 64))
        #expect(try frame.uprightJPEG(edges: .keep).bufferSize == BufferSize(width: 100, height: 70))
        #expect(throws: TurboJPEGError.self) { try frame.uprightJPEG(edges: .perfect) }
    }

    @Test(arguments: FrameOrientation.allCases, ChromaSubsampling.allCases)
    func `what is left of an image without its partial blocks is rotated, or nothing is`(
        _ orientation: FrameOrientation,
        _ subsampling: ChromaSubsampling
    ) throws {
        let transform = JPEGTransform(uprighting: orientation)
        let (mcuWidth, mcuHeight) = (subsampling.mcuWidth, subsampling.mcuHeight)
        let corner: [JPEGTransform] = [.flipHorizontal, .rotate270, .rotate180, .transverse]
        let bottom: [JPEGTransform] = [.flipVertical, .rotate90, .rotate180, .transverse]
        let (cutsWidth, cutsHeight) = (corner.contains(transform), bottom.contains(transform))
        for (width, height) in [(1, 1), (7, 20), (10, 10), (20, 7), (33, 15), (40, 31), (63, 40), (64, 96)] {
            let image = try OutputPixelTests.gradient(.rgb, width: width, height: height)
            let jpeg: [UInt8] = try JPEGEncoder(quality: 90, subsampling: subsampling).encode(image)
            let isEmpty = (cutsWidth && width < mcuWidth) || (cutsHeight && height < mcuHeight)
            if isEmpty || (subsampling == .yuv411 && transform.swapsSides) {
                #expect(throws: TurboJPEGError.self) { try transform.apply(to: jpeg.span, edges: .trim) }
                continue
            }
            let turned = try transform.apply(to: jpeg.span, edges: .trim)
            var plan = OutputPlan(BufferSize(width: width, height: height))
            if cutsWidth { plan.part.width -= width % mcuWidth }
            if cutsHeight { plan.part.height -= height % mcuHeight }
            plan.scaled = BufferSize(width: plan.part.width, height: plan.part.height)
            plan.canvas = plan.scaled
            let whole = try JPEGDecoder().decode(jpeg.span, as: .gray)
            let expected = try whole.applying(plan).upright(from: orientation)
            let found = try JPEGDecoder().decode(turned.span, as: .gray)
            #expect((found.width, found.height) == (expected.width, expected.height), "\(width)x\(height)")
            #expect(try found.peakSignalToNoiseRatio(against: expected) > 45, "\(width)x\(height)")
        }
    }

    @Test func `the sender rotates JPEGs`() async throws {
        let (width, height) = (100, 70)
        let image = try OutputPixelTests.gradient(.bgra, width: width, height: height)
        let jpeg: [UInt8] = try JPEGEncoder(quality: 95).encode(image)
        var wire = try await SharedPair(
            try TemporaryDirectory(),
            .init(quality: 95, appliesOrientation: true),
            accepts: false
        )
        wire.uploader.send(
            jpeg: FrameBytes(jpeg),
            bufferSize: BufferSize(width: width, height: height),
            orientation: .left
        )
        let frame = try await wire.next()
        #expect(frame.orientation == .up)
        #expect(frame.bufferSize == BufferSize(width: height, height: width))
        let found = try FrameDecoder().decode(frame).image
        #expect(try found.peakSignalToNoiseRatio(against: image.upright(from: .left)) > 30)
    }

    /// A phone that is turned while it sends: every frame arrives, in its own size.
    @Test(arguments: [false, true])
    func `a change of orientation within a stream loses nothing`(appliesOrientation: Bool) async throws {
        let wide = try OutputPixelTests.gradient(.bgra, width: 128, height: 80)
        let high = try OutputPixelTests.gradient(.i420, width: 62, height: 130)
        let steps: [(PixelBuffer, FrameOrientation)] = [
            (wide, .up), (wide, .left), (high, .up), (wide, .right), (high, .down), (high, .leftMirrored), (wide, .up),
        ]
        var wire = try await SharedPair(
            try TemporaryDirectory(),
            .init(quality: 95, appliesOrientation: appliesOrientation),
            accepts: false
        )
        let decoder = FrameDecoder(isUpright: true)
        for (index, (image, orientation)) in (steps + steps).enumerated() {
            #expect(wire.uploader.send(image, orientation: orientation) == .taken)
            let frame = try await wire.next()
            #expect(frame.sequence == UInt64(index))
            let expected = try image.upright(from: orientation)
            let found = try decoder.decode(frame, as: image.format).image
            #expect(try found.peakSignalToNoiseRatio(against: expected) > 30, "step \(index)")
            try await wire.uploader.finish()
        }
        #expect(wire.uploader.statistics.sent == 2 * steps.count)
        #expect(wire.uploader.statistics.drops.isEmpty)
    }

    @Test(arguments: [PixelFormat.i420, .nv12, .bgra], [false, true])
    func `a decoded frame has planes, a time and an orientation`(_ format: PixelFormat, isUpright: Bool)
        async throws
    {
        let image = try OutputPixelTests.gradient(format, width: 75, height: 41)
        var wire = try await SharedPair(try TemporaryDirectory(), .init(quality: 100), accepts: false)
        wire.uploader.send(image, orientation: .right, timestamp: 123_456_789)
        let frame = try await wire.next()
        let decoded = try FrameDecoder(isUpright: isUpright).decode(frame, as: format)
        #expect(decoded.timestamp == 123_456_789)
        #expect(decoded.orientation == (isUpright ? .up : .right))
        let received = decoded.image
        #expect((received.width, received.height) == (isUpright ? (41, 75) : (75, 41)))
        let counts = received.withPlanes { luma, blue, red in [luma.count, blue.count, red.count] }
        let planes: [PixelFormat: [Int]] = [.i420: [0, 1, 2], .nv12: [0, 1, 1], .bgra: [0, 0, 0]]
        #expect(counts == planes[format]?.map { received.plane($0).byteCount })
        let expected = isUpright ? try image.upright(from: .right) : image
        #expect(try received.peakSignalToNoiseRatio(against: expected) > 40)
    }
}
