import TestDescriptions
import TestSupport
import Testing

@testable import FrameSocket
@testable import FrameTransport

@Suite(.tags(.computes)) struct RotationTests {
    /// A frame as a receiver gets it.
    private func frame(_ image: PixelBuffer, _ orientation: FrameOrientation, quality: Int = 80) throws -> Frame {
        let sent = try FrameEncoder().encode(.pixels(image), orientation, .init(quality: quality))
        var info = sent.info
        (info.timestamp, info.sequence) = (77, 3)
        let header = FrameHeader(contentLength: sent.jpeg.count, info: info)
        return Frame(.jpeg(sent.jpeg), header: header, index: 0)
    }

    @Test(arguments: FrameOrientation.allCases)
    func `a frame is rotated without loss`(_ orientation: FrameOrientation) throws {
        let frame = try frame(try OutputPixelTests.gradient(.bgra, width: 96, height: 64), orientation)
        let message = try frame.uprightJPEG()
        #expect(message.orientation == .up && message.timestamp == 77 && message.sequence == 3)
        #expect(message.bufferSize == BufferSize(width: 96, height: 64).oriented(by: orientation))
        let found = try JPEGDecoder().decode(bytes: message.jpeg.array(), as: .gray)
        let expected = try FrameDecoder(isUpright: true).decode(frame, as: .gray).image
        #expect(try found.peakSignalToNoiseRatio(against: expected) > 50)
    }

    /// Without loss, or decoded and encoded again if a part of a block would have to move.
    @Test(arguments: FrameOrientation.allCases, [(96, 64), (100, 70)])
    func `a sender rotates a JPEG`(_ orientation: FrameOrientation, size: (Int, Int)) throws {
        let image = try OutputPixelTests.gradient(.bgra, width: size.0, height: size.1)
        let (jpeg, size) = (FrameBytes(try JPEGEncoder(quality: 95).encode(image)), image.size)
        let configuration = SampleUploader.Configuration(quality: 95, appliesOrientation: true)
        let sent = try FrameEncoder().encode(.jpeg(jpeg, size), orientation, configuration)
        #expect(sent.orientation.isUpright && sent.bufferSize == size.oriented(by: orientation))
        let found = try JPEGDecoder().decode(bytes: sent.jpeg.array(), as: .bgra)
        #expect(try found.peakSignalToNoiseRatio(against: image.upright(from: orientation)) > 30)
    }

    @Test func `partial blocks are cut, refused or kept`() throws {
        let frame = try frame(try OutputPixelTests.gradient(.bgra, width: 100, height: 70), .down)
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

    @Test(arguments: [PixelFormat.i420, .nv12, .bgra], [false, true])
    func `a decoded frame has planes, a time and an orientation`(_ format: PixelFormat, isUpright: Bool) throws {
        let image = try OutputPixelTests.gradient(format, width: 75, height: 41)
        let frame = try frame(image, .right, quality: 100)
        let decoded = try FrameDecoder(isUpright: isUpright).decode(frame, as: format)
        #expect(decoded.timestamp == 77 && decoded.orientation == (isUpright ? .up : .right))
        let received = decoded.image
        let counts = received.withPlanes { luma, blue, red in [luma.count, blue.count, red.count] }
        let planes: [PixelFormat: [Int]] = [.i420: [0, 1, 2], .nv12: [0, 1, 1], .bgra: [0, 0, 0]]
        #expect(counts == planes[format]?.map { received.plane($0).byteCount })
        let expected = isUpright ? try image.upright(from: .right) : image
        #expect(try received.peakSignalToNoiseRatio(against: expected) > 40)
    }
}
