import TestSupport
import Testing

extension [UInt8] {
    /// Makes up to two random faults: a byte is replaced, inserted or removed; `telling` bytes mean something to a decoder.
    mutating func damage(with telling: [UInt8], using random: inout SplitMix) {
        for _ in 0..<Int.random(in: 0...2, using: &random) {
            let index = Int.random(in: indices, using: &random)
            let byte = telling.randomElement(using: &random) ?? 0
            switch Int.random(in: 0...2, using: &random) {
            case 0: self[index] = byte
            case 1: insert(byte, at: index)
            default: remove(at: index)
            }
        }
    }

    /// Returns what comes out of the stream as a whole, and expects the same from its halves and from single bytes.
    func decodedHoweverCut<Outcome: Equatable>(
        _ round: String,
        using random: inout SplitMix,
        by decode: (_ stream: Self, _ cuts: [Int]) -> Outcome
    ) -> Outcome {
        let whole = decode(self, [])
        let half = Int.random(in: indices, using: &random)
        let isSameHalved = decode(self, [half]) == whole
        let isSameBytewise = decode(self, Array<Int>(indices)) == whole
        #expect(isSameHalved && isSameBytewise, "\(round), cut before byte \(half): \(self)")
        return whole
    }
}
