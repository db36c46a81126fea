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

    @Test func `a photo of more pixels than receivers accept is scaled to fewer`() throws {
        let photo = try PixelBuffer(width: 6000, height: 6000, format: .gray, zeroFilled: true)
        let jpeg: [UInt8] = try JPEGEncoder(subsampling: .gray).encode(photo)
        let content = FrameContent.resizableJPEG(FrameBytes(jpeg), BufferSize(width: 6000, height: 6000))
        let plan = EncodingRecipe(content, .up, .init(.init(scale: .fraction(numerator: 1, denominator: 4))))
        #expect(
            try FrameEncoder().encode(content, .up, plan).message.bufferSize == BufferSize(width: 1500, height: 1500)
        )
    }

    @Test(
        arguments: [(-5, 1), (0, 1), (101, 100), (.max, 100)]
    )
    func `a preference that no encoder can fulfill becomes the nearest one`(preferred: Int, quality: Int) {
        let configuration = SampleUploader.Configuration().preferring(ControlRequest.Preferences(quality: preferred))
        #expect(configuration.quality == quality)
    }

    @Test func `sizes far beyond what can be encoded do not overflow`() throws {
        let image = try testImage(64, 48, as: .bgra)
        let scale = SampleUploader.OutputScale.letterbox(width: .max, height: .max)
        #expect(EncodingRecipe(.pixels(image), .up, .init(.init(scale: scale)))?.sharedByteCount == nil)
    }
}
