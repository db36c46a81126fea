import TestDescriptions
import TestSupport
import Testing

@testable import FrameSocket
@testable import FrameTransport

/// What the two ends count.
@Suite(.tags(.computes)) struct StatisticsTests {
    private func frame(_ sequence: UInt64?, timestamp: UInt64? = nil, bytes: Int = 1, receivedAt: UInt64 = 1000)
        -> Frame
    {
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
        return Frame(jpeg: jpeg, header: header, index: 0, receivedAt: receivedAt, transferTime: .nanoseconds(7))
    }

    @Test(
        arguments: [
            ([0, 1, 2], 0), ([0, 3], 2), ([5], 0), ([5, 6, 10, 11], 3), ([0, nil, 2], 1), ([3, 3], 0), ([3, 1, 2], 0),
            ([0, .max], .max - 1), ([], 0), ([nil, nil], 0),
        ] as [([UInt64?], UInt64)]
    )
    func `gaps in the numbers are frames that were dropped before the socket`(sequences: [UInt64?], missing: UInt64) {
        var statistics = ReceptionStatistics()
        for sequence in sequences { statistics.add(frame(sequence)) }
        #expect(statistics.missing == missing)
        #expect(statistics.frames == sequences.count)
    }

    @Test func `bytes and times add up, and a time in the future is not a latency`() {
        var statistics = ReceptionStatistics()
        statistics.add(frame(nil, timestamp: 400, bytes: 10))
        statistics.add(frame(nil, timestamp: 1000, bytes: 5))
        statistics.add(frame(nil, timestamp: 1001))
        statistics.add(frame(nil))
        #expect(statistics.bytes == 17)
        #expect(
            statistics.latency.count == 2 && statistics.latency.maximum == .nanoseconds(600)
                && statistics.latency.mean == .nanoseconds(300)
        )
        #expect(statistics.transfer.count == 4 && statistics.transfer.mean == .nanoseconds(7))
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
