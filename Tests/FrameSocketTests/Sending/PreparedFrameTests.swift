import FrameTransport
import FrameWire
import TestDescriptions
import TestSupport
import Testing

@testable import FrameSocket
@testable import TurboJPEG

/// What is made of frames of unusual sizes, and of those that are sent again.
@Suite(.tags(.computes)) struct PreparedFrameTests {
    @Test func `a JPEG whose size was stated wrongly is not sent if receivers refuse its own`() throws {
        let jpeg: [UInt8] = try JPEGEncoder().encode(try testImage(640, 480, as: .bgra))
        var configuration = SampleUploader.Configuration(appliesOrientation: true)
        configuration.limits.maximumDimension = 100
        var rig = ImageRig(configuration)
        let content = FrameContent.jpeg(FrameBytes(jpeg), BufferSize(width: 8, height: 8))
        #expect(rig.offer(content, orientation: .right) == .taken)
        #expect(rig.messages.isEmpty)
        #expect(rig.machine.statistics.drops == [.outsideLimits: 1])
    }

    @Test(arguments: [
        (SampleUploader.OutputScale.full, 640, 400), (.half, 320, 200), (.fit(width: 100, height: 100), 100, 62),
        (.width(72), 72, 46), (.fill(width: 60, height: 60), 60, 60),
        (.letterbox(width: 100, height: 100), 100, 100),
    ])
    func `a JPEG is sent at a smaller size`(scale: SampleUploader.OutputScale, width: Int, height: Int) throws {
        for subsampling in [ChromaSubsampling.yuv420, .yuv444, .gray] {
            let image = try OutputPixelTests.gradient(.rgb, width: 640, height: 400)
            let jpeg: [UInt8] = try JPEGEncoder(quality: 95, subsampling: subsampling).encode(image)
            let content = FrameContent.resizableJPEG(FrameBytes(jpeg), image.size)
            let sent = try FrameEncoder().encode(content, .up, .init(quality: 95, scale: scale))
            #expect(sent.bufferSize == BufferSize(width: width, height: height))
            let whole = try JPEGDecoder().decode(jpeg.span, as: .rgb)
            let expected = try whole.applying(scale.plan(forWidth: 640, height: 400))
            let found = try JPEGDecoder().decode(bytes: sent.jpeg.array(), as: .rgb)
            #expect(try found.peakSignalToNoiseRatio(against: expected) > 25)
            // What keeps its size is not encoded again.
            if scale == .full { #expect(sent.jpeg.array() == jpeg) }
        }
    }

    @Test func `a photo of more pixels than receivers accept is scaled to fewer`() throws {
        let photo = try PixelBuffer(width: 6000, height: 6000, format: .gray, zeroFilled: true)
        let jpeg: [UInt8] = try JPEGEncoder(subsampling: .gray).encode(photo)
        let content = FrameContent.resizableJPEG(FrameBytes(jpeg), BufferSize(width: 6000, height: 6000))
        let plan = EncodingRecipe(content, .up, .init(.init(scale: .fraction(numerator: 1, denominator: 4))))
        #expect(
            try FrameEncoder().encode(content, .up, plan).message.bufferSize == BufferSize(width: 1500, height: 1500)
        )
    }

    @Test func `sizes far beyond what can be encoded do not overflow`() throws {
        let image = try testImage(64, 48, as: .bgra)
        let scale = SampleUploader.OutputScale.letterbox(width: .max, height: .max)
        #expect(EncodingRecipe(.pixels(image), .up, .init(.init(scale: scale)))?.sharedByteCount == nil)
    }
}
