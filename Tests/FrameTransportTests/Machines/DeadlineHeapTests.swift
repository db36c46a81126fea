import FrameTransport
import TestDescriptions
import TestSupport
import Testing

/// The order in which deadlines pass, and what is kept of them.
@Suite("Deadline heap", .tags(.computes)) struct DeadlineHeapTests {
    /// Shows P190.
    @Test func `a deadline that moves has one entry, whichever way it moves`() {
        var heap = DeadlineHeap()
        for round: UInt64 in 0..<10_000 {
            heap.set(round * 7919 % 1000, token: round % 3)
            #expect(heap.count == min(Int(round) + 1, 3))
        }
        for token: UInt64 in 0..<3 { heap.remove(token) }
        #expect(heap.isEmpty && heap.first == nil)
        // Nobody's deadline is nobody's loss.
        heap.remove(7)
        #expect(heap.popFirst(upTo: .max) == nil)
    }

    @Test(arguments: [UInt64(1), 2, 3, 4])
    func `any changes leave what a dictionary would have`(seed: UInt64) {
        var random = SplitMix(seed: seed)
        var heap = DeadlineHeap()
        var model: [UInt64: UInt64] = [:]
        for _ in 0..<5000 {
            let token = UInt64.random(in: 0..<20, using: &random)
            switch Int.random(in: 0..<10, using: &random) {
            case 0..<6:
                let time = UInt64.random(in: 0..<1000, using: &random)
                heap.set(time, token: token)
                model[token] = time
            case 6:
                heap.remove(token)
                model[token] = nil
            default:
                let now = UInt64.random(in: 0..<1000, using: &random)
                let least = model.values.min()
                if let passed = heap.popFirst(upTo: now) {
                    let time = model.removeValue(forKey: passed)
                    #expect(time != nil && time == least && (time ?? 0) <= now, "seed \(seed)")
                } else {
                    #expect(least.map { $0 > now } ?? true, "seed \(seed)")
                }
            }
            #expect(heap.count == model.count && heap.first == model.values.min(), "seed \(seed)")
        }
    }
}
