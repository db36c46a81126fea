import FrameSocket
import TestDescriptions
import Testing

@Suite(.tags(.computes)) struct TimingTests {
    struct Numbers: CustomTestStringConvertible {
        let numbers: [UInt64]
        let missing: UInt64
        var reordered = 0
        var repeated = 0
        var testDescription: String { "\(numbers.prefix(12))" }
    }

    /// Shows P114.
    @Test(arguments: [
        Numbers(numbers: [], missing: 0),
        Numbers(numbers: [0, 1, 2, 3], missing: 0),
        Numbers(numbers: [7, 8, 9], missing: 0),
        Numbers(numbers: [0, 4, 5], missing: 3),
        Numbers(numbers: [0, 2, 1, 3], missing: 0, reordered: 1),
        Numbers(numbers: [0, 5, 3, 1], missing: 2, reordered: 2),
        Numbers(numbers: [0, 1, 1, 2, 2, 2], missing: 0, repeated: 3),
        Numbers(numbers: [0, 2, 1, 1], missing: 0, reordered: 1, repeated: 1),
        // Before the first, and the gap between.
        Numbers(numbers: [10, 9], missing: 0, reordered: 1),
        Numbers(numbers: [10, 12, 7], missing: 3, reordered: 1),
        Numbers(numbers: [10, 7, 8, 9], missing: 0, reordered: 3),
        // At the edge of the reach, and over it.
        Numbers(numbers: [0, 64, 1], missing: 62, reordered: 1),
        Numbers(numbers: [0, 65, 1, 2], missing: 64),
        Numbers(numbers: [0, 63, 0], missing: 62, repeated: 1),
        // A sender that started again.
        Numbers(numbers: [1000, 1001, 0, 1, 3], missing: 1),
        // All there are.
        Numbers(numbers: [0, .max], missing: .max - 1),
        Numbers(numbers: [.max, .max - 1, 0], missing: 0, reordered: 1),
        Numbers(numbers: [0, .max, 0, .max, 0, .max], missing: (.max - 1) &* 3),
    ])
    func `sequence numbers show how many frames were lost`(_ numbers: Numbers) {
        var loss = ReceptionStatistics.Loss()
        for number in numbers.numbers { loss.add(number) }
        let counts = [loss.missing, UInt64(loss.reordered), UInt64(loss.repeated)]
        #expect(counts == [numbers.missing, UInt64(numbers.reordered), UInt64(numbers.repeated)])
    }

    @Test func `jitter is that of RFC 3550`() {
        var jitter = ReceptionStatistics.Jitter()
        // Sent every 100, received after 10, 42, 10, 26: the differences are 32, 32 and 16.
        for (timestamp, receivedAt) in [(1000, 1010), (1100, 1142), (1200, 1210), (1300, 1326)] as [(UInt64, UInt64)] {
            jitter.add(timestamp: timestamp, receivedAt: receivedAt)
        }
        // 2, then 2 + 30/16 = 3.875, then 3.875 + 12.125/16 = 4.63.
        #expect(jitter.smoothed == .nanoseconds(4))
        #expect(jitter.maximum == .nanoseconds(32))
    }

    @Test func `any timestamps are accepted`() {
        var statistics = ReceptionStatistics()
        for timestamp in [0, .max, 0, .max, 1 << 63] as [UInt64] {
            statistics.add(byteCount: 1, timestamp: timestamp, sequence: timestamp, receivedAt: 7, transferTime: .zero)
        }
        #expect(statistics.frames == 5)
        #expect(statistics.jitter.maximum > .zero)
        // Only two of them were before it was received.
        #expect(statistics.latency.count == 2)
    }

    @Test func `statistics add up`() {
        var statistics = ReceptionStatistics()
        #expect(statistics.loss.rate == 0)
        for (number, latency) in [(0, 10), (1, 20), (4, 30), (3, 40), (3, 0)] as [(UInt64, UInt64)] {
            let time = 1_000 + 100 * number
            statistics.add(
                byteCount: 50,
                timestamp: time,
                sequence: number,
                receivedAt: time + latency,
                transferTime: .nanoseconds(5)
            )
        }
        statistics.add(byteCount: 50, timestamp: nil, sequence: nil, receivedAt: 9_000, transferTime: .nanoseconds(17))
        // The last one was sent again, and so has been presented before.
        let counts = [statistics.frames, Int(statistics.bytes), Int(statistics.repeats), statistics.latency.count]
        #expect(counts == [6, 300, 1, 4])
        #expect(statistics.latency.mean == .nanoseconds(25) && statistics.latency.maximum == .nanoseconds(40))
        #expect(statistics.transfer.maximum == .nanoseconds(17) && statistics.missing == 1)
        let loss = statistics.loss
        #expect(loss.reordered == 1 && loss.repeated == 1 && loss.received == 4 && loss.rate == 0.2)
    }

    @Test func `a frame that is sent again is neither lost nor late`() {
        var (statistics, once) = (ReceptionStatistics(), ReceptionStatistics())
        for (number, count) in [(0, 1), (1, 3), (2, 2)] as [(UInt64, UInt64)] {
            for round in 0..<count {
                let receivedAt = 1_000_010 + 100 * number + 60_000_000_000 * round
                let time = 1_000_000 + 100 * number
                if round == 0 {
                    once.add(
                        byteCount: 1,
                        timestamp: time,
                        sequence: number,
                        receivedAt: receivedAt,
                        transferTime: .nanoseconds(1)
                    )
                }
                statistics.add(
                    byteCount: 1,
                    timestamp: time,
                    sequence: number,
                    receivedAt: receivedAt,
                    transferTime: .nanoseconds(1)
                )
            }
        }
        #expect(statistics.frames == 6 && statistics.repeats == 3)
        #expect(statistics.missing == 0)
        #expect(statistics.latency == once.latency)
        #expect(statistics.jitter == once.jitter)
    }
}
