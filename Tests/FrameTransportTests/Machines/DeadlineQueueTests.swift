import FrameTransport
import TestDescriptions
import TestSupport
import Testing

/// The order in which deadlines pass, and what is kept of them.
@Suite("Deadline queue", .tags(.computes)) struct DeadlineQueueTests {
    /// Shows P190.
    @Test func `a deadline that moves has one entry, whichever way it moves`() {
        var queue = DeadlineQueue()
        for round: UInt64 in 0..<10_000 {
            queue.set(round * 7919 % 1000, token: round % 3)
            #expect(queue.count == min(Int(round) + 1, 3))
        }
        for token: UInt64 in 0..<3 { queue.remove(token) }
        #expect(queue.count == 0 && queue.first == nil)
        // Nobody's deadline is nobody's loss.
        queue.remove(7)
        #expect(queue.popFirst(upTo: .max) == nil)
    }

    @Test(arguments: [UInt64(1), 2, 3, 4])
    func `any changes leave what a dictionary would have`(seed: UInt64) {
        var random = SplitMix(seed: seed)
        var queue = DeadlineQueue()
        var model: [UInt64: UInt64] = [:]
        for _ in 0..<5000 {
            let token = UInt64.random(in: 0..<20, using: &random)
            switch Int.random(in: 0..<10, using: &random) {
            case 0..<6:
                let time = UInt64.random(in: 0..<1000, using: &random)
                queue.set(time, token: token)
                model[token] = time
            case 6:
                queue.remove(token)
                model[token] = nil
            default:
                let now = UInt64.random(in: 0..<1000, using: &random)
                let least = model.values.min()
                if let passed = queue.popFirst(upTo: now) {
                    let time = model.removeValue(forKey: passed)
                    #expect(time != nil && time == least && (time ?? 0) <= now, "seed \(seed)")
                } else {
                    #expect(least.map { $0 > now } ?? true, "seed \(seed)")
                }
            }
            #expect(queue.count == model.count && queue.first == model.values.min(), "seed \(seed)")
        }
    }
}
