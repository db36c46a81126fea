import TestDescriptions
import TestSupport
import Testing

@testable import FrameSocket
@testable import FrameTransport

/// What the two ends count.
@Suite(.tags(.computes)) struct StatisticsTests {
    private func frame(
        _ sequence: UInt64?,
        timestamp: UInt64? = nil,
        bytes: Int = 1,
        receivedAt: UInt64 = 1000,
        index: Int = 0
    ) -> Frame {
        let header = FrameHeader(
            contentLength: bytes,
            info: FrameInfo(
                bufferSize: BufferSize(width: 1, height: 1),
                orientation: .up,
                timestamp: timestamp,
                sequence: sequence
            )
        )
        let jpeg = FrameBytes([UInt8](repeating: 0, count: bytes))
        return Frame(.jpeg(jpeg), header: header, index: index, receivedAt: receivedAt, transferTime: 7)
    }

    /// Which numbers a connection delivers, by the index of the frame in it.
    @Test(
        arguments: [
            // The receiver replaced all in between, some of them, and those before the first.
            ([(0, 0), (300, 300)], 0), ([(0, 0), (4, 2)], 2), ([(7, 7), (8, 8)], 0),
            // A frame without a number, and one that was sent again, explain no gap of others.
            ([(0, 0), (nil, 1), (2, 2)], 1), ([(3, 0), (3, 4), (4, 5)], 0),
            // A number that arrives late had been taken for one that was replaced.
            ([(0, 0), (5, 5), (3, 6)], 0), ([(0, 0), (.max, .max)], 1 << 63),
            // Numbers and indexes that no connection has.
            ([(0, .max), (9, .min), (20, .max)], 18),
        ] as [([(UInt64?, Int)], UInt64)]
    )
    func `frames that the receiver replaced are not missing`(arrivals: [(UInt64?, Int)], missing: UInt64) {
        var statistics = ReceptionStatistics()
        for (sequence, index) in arrivals { statistics.add(frame(sequence, index: index)) }
        #expect(statistics.missing == missing)
        #expect(statistics.loss.rate.isFinite && (0...1).contains(statistics.loss.rate))
    }

    @Test(arguments: UInt64(1)...50)
    func `every number is that of a frame that was taken, superseded or dropped by the sender`(seed: UInt64) {
        var random = SplitMix(seed: seed)
        var (statistics, superseded, dropped, arrived) = (ReceptionStatistics(), 0, 0, 0)
        // What is lost at either end shows once a later frame is taken, and counts from the first that is.
        let count = UInt64(1000)
        for number in 0..<count {
            let isEnd = number == 0 || number == count - 1
            guard isEnd || Int.random(in: 0..<4, using: &random) > 0 else {
                dropped += 1
                continue
            }
            defer { arrived += 1 }
            guard isEnd || Int.random(in: 0..<3, using: &random) == 0 else {
                superseded += 1
                continue
            }
            statistics.add(frame(number, index: arrived))
        }
        #expect(statistics.missing == UInt64(dropped), "seed \(seed)")
        #expect(UInt64(statistics.frames + superseded) + statistics.missing == count, "seed \(seed)")
        #expect(abs(statistics.loss.rate - Double(dropped) / Double(count)) < 1e-9, "seed \(seed)")
    }

    @Test func `times are summarized`() {
        var summary = TimeSummary()
        #expect(summary.mean == .zero)
        for value in [3, 5, 10] as [UInt64] { summary.add(nanoseconds: value) }
        #expect(
            summary.count == 3 && summary.total == .nanoseconds(18) && summary.mean == .nanoseconds(6)
                && summary.maximum == .nanoseconds(10)
        )
        summary.add(nanoseconds: .max)
        #expect(summary.maximum == Duration(nanoseconds: .max))
    }

    @Test func `every cause has a sentence of its own`() {
        #expect(
            Set(SampleUploader.DropCause.allCases.map(\.description)).count == SampleUploader.DropCause.allCases.count
        )
    }

    // MARK: Numbers and times

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
            statistics.add(byteCount: 1, timestamp: timestamp, sequence: timestamp, receivedAt: 7, transferTime: 0)
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
                transferTime: 5
            )
        }
        statistics.add(byteCount: 50, timestamp: nil, sequence: nil, receivedAt: 9_000, transferTime: 17)
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
        for (number, round) in [(0, 0), (1, 0), (1, 1), (1, 2), (2, 0), (2, 1)] as [(UInt64, UInt64)] {
            func add(to statistics: inout ReceptionStatistics) {
                statistics.add(
                    byteCount: 1,
                    timestamp: 1_000_000 + 100 * number,
                    sequence: number,
                    receivedAt: 1_000_010 + 100 * number + 60_000_000_000 * round,
                    transferTime: 1
                )
            }
            add(to: &statistics)
            if round == 0 { add(to: &once) }
        }
        #expect(statistics.frames == 6 && statistics.repeats == 3 && statistics.missing == 0)
        #expect(statistics.latency == once.latency && statistics.jitter == once.jitter)
    }
}
