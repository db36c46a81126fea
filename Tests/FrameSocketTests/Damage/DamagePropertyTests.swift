import TestDescriptions
import Testing

@testable import FrameSocket

/// Random changes of a screen with their damage, through an uploader that drops, holds back, scales, rotates and shares.
@Suite(.tags(.computes)) struct DamagePropertyTests {
    /// Shows P350, P351.
    @Test(arguments: UInt64(0)..<20)
    func `with damage, a receiver gets what it gets without`(group: UInt64) throws {
        var uses: [DamageRig.Use: Int] = [:]
        for seed in 20 * group..<20 * (group + 1) {
            var rig = try DamageRig(seed: seed)
            for step in 1...120 {
                try rig.step()
                if step % 30 == 0 { try rig.checkLatest() }
            }
            uses.merge(rig.uses, uniquingKeysWith: +)
        }
        for use in DamageRig.Use.allCases { #expect(uses[use] ?? 0 > 0, "no \(use)") }
    }
}
