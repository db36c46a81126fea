import FrameSocket
import TestDescriptions
import TestSupport
import Testing

/// How much of real images is left after encoding and decoding.
@Suite(.tags(.computes)) struct QualityTests {
    @Test func `the images exist`() {
        #expect(Fixtures.images.count == 21)
    }

    @Test(arguments: Fixtures.images) func `quality 90 preserves at least 38 dB, and as much as the reference does`(
        fixture: Fixtures.Image
    ) throws {
        let image = try fixture.pixels(as: .rgb)
        #expect((image.width, image.height) == (fixture.width, fixture.height))
        for (subsampling, name) in [(ChromaSubsampling.yuv444, "444"), (.yuv420, "420")] {
            let jpeg = try JPEGEncoder(quality: 90, subsampling: subsampling).encode(image)
            let decoded = try JPEGDecoder().decode(bytes: jpeg, as: .rgb)
            let kept = try decoded.peakSignalToNoiseRatio(against: image)
            let expected = try #require(fixture.psnr90[name])
            #expect(abs(kept - expected) < 0.02, "\(name)")
            if name == "444" { #expect(kept >= 38) }
        }
    }

    @Test(arguments: [PixelFormat.bgra, .rgba, .argb, .abgr, .bgrx, .bgr])
    func `every packed format preserves the same`(format: PixelFormat) throws {
        let fixture = try #require(Fixtures.images.first)
        let jpeg = try JPEGEncoder(quality: 90, subsampling: .yuv444).encode(fixture.pixels(as: format))
        #expect(try jpeg == JPEGEncoder(quality: 90, subsampling: .yuv444).encode(fixture.pixels(as: .rgb)))
    }

    @Test(arguments: [PixelFormat.i420, .nv12]) func `planar images preserve at least 38 dB of their samples`(
        format: PixelFormat
    ) throws {
        for fixture in Fixtures.images.prefix(4) {
            let image = try fixture.pixels(as: format)
            let jpeg = try JPEGEncoder(quality: 90).encode(image)
            let decoded = try JPEGDecoder().decode(bytes: jpeg, as: format)
            #expect(try decoded.peakSignalToNoiseRatio(against: image) >= 38, "\(fixture.file)")
        }
    }
}
