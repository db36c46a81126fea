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
}
