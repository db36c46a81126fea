import TestDescriptions
import Testing

@testable import TurboJPEG

@Suite(.tags(.computes)) struct ImageHashTests {
    private func hash(_ words: [UInt64]) -> UInt64 {
        var hash = ImageHash(key: .zero)
        let bytes = words.flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: word >> UInt64(8 * $0)) } }
        hash.add(bytes.span)
        return hash.value
    }

    /// These factors were found by search: the two halves of their product change alike if the first is inverted.
    @Test(
        arguments: [
            (0xEF28_DA23_4791_1497, 0xEA0A_414D_180F_5243), (0x3C85_4565_63D9_CB2D, 0xFEE4_17C0_807F_F3F7),
            (0x879F_A269_76D7_A6C3, 0xCBFF_2083_EC6F_2C51),
        ] as [(UInt64, UInt64)]
    )
    func `the inversion of a word is detected`(word: UInt64, other: UInt64) {
        let others: [UInt64] = [other, 0x9E37_79B9_7F4A_7C15, 0xBF58_476D_1CE4_E5B9, 0x94D0_49BB_1331_11EB, 3, 5, 7]
        #expect(hash([word] + others) != hash([~word] + others))
    }
}
