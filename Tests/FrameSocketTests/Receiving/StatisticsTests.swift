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
        return Frame(jpeg: jpeg, header: header, index: index, receivedAt: receivedAt, transferTime: .nanoseconds(7))
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
}
