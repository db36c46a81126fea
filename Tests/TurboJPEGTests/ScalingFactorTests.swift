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

    @Test func `sizes that no image has do not trap`() {
        for factor in JPEGDecoder.ScalingFactor.allSupported {
            #expect(factor.scaled(width: 0, height: -1) == (0, -1))
            #expect(factor.scaled(width: .max, height: .min).width > 0)
        }
    }
}
