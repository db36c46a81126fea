import TestDescriptions
import TestSupport
import Testing
import TurboJPEG

@Suite(.tags(.computes)) struct ScalingFactorTests {
    @Test func `the factors are those of the library`() {
        let factors = JPEGDecoder.ScalingFactor.allSupported
        #expect(factors.count == 16)
        for factor in [JPEGDecoder.ScalingFactor.full, .half, .quarter, .eighth] { #expect(factors.contains(factor)) }
        for factor in factors { #expect(JPEGDecoder.ScalingFactor(parsing: factor.description) == factor) }
    }

    @Test(arguments: [("1/2", "1/2"), ("2/4", "1/2"), ("1", "1/1"), ("2", "2/1"), ("8/8", "1/1"), ("3/8", "3/8")])
    func `a valid factor is parsed`(text: String, description: String) {
        #expect(JPEGDecoder.ScalingFactor(parsing: text)?.description == description)
    }

    @Test(arguments: [
        "", "/", "1/", "/2", "0", "0/1", "1/0", "-1/2", "1/3", "1/16", "3", "1/2/3", "a/b", "1.5", " 1/2",
        "9223372036854775807/9223372036854775807", "99999999999999999999",
    ])
    func `an invalid factor is nil`(text: String) {
        #expect(JPEGDecoder.ScalingFactor(parsing: text) == nil)
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
