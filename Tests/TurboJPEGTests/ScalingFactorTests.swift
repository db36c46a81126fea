import TestDescriptions
import TestSupport
import Testing
import TurboJPEG

@Suite(.tags(.computes)) struct ScalingFactorTests {
    @Test func `the factors are those of the library`() {
        let factors = JPEGDecoder.ScalingFactor.allSupported
        #expect(factors.count == 16)
        for factor in [JPEGDecoder.ScalingFactor.full, .half, .quarter, .eighth] { #expect(factors.contains(factor)) }
        #expect(Set(factors.map(\.description)).count == 16)
    }

    @Test(arguments: JPEGDecoder.ScalingFactor.allSupported, sizes.dropLast())
    func `the size of the decoded image is the scaled one`(scale: JPEGDecoder.ScalingFactor, size: (Int, Int)) throws {
        let jpeg = try JPEGEncoder().encode(testImage(size.0, size.1))
        for format in [PixelFormat.bgra, .nv12] {
            let decoded = try JPEGDecoder().decode(bytes: jpeg, as: format, scale: scale)
            #expect((decoded.width, decoded.height) == scale.scaled(width: size.0, height: size.1))
        }
    }

    @Test func `sizes that no image has do not trap`() {
        for factor in JPEGDecoder.ScalingFactor.allSupported {
            #expect(factor.scaled(width: 0, height: -1) == (0, -1))
            #expect(factor.scaled(width: .max, height: .min).width > 0)
        }
    }
}
