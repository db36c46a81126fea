import FrameTransport
import TestDescriptions
import TestSupport
import Testing

/// The order in which deadlines pass, and what is kept of them.
@Suite("Deadline queue", .tags(.computes)) struct DeadlineQueueTests {
    /// Shows P190.
    @Test(arguments: [UInt64(1), 2, 3, 4])
    func `any changes leave what a dictionary would have, one entry for each owner`(seed: UInt64) {
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
