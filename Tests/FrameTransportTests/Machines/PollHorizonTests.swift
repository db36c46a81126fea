import FrameTransport
import TestDescriptions
import TestSupport
import Testing

/// The deadlines that may fire after a poll.
@Suite("Poll horizon", .tags(.computes)) struct PollHorizonTests {
    private typealias Case = (counts: [Int], time: UInt64)

    private static let cases: [Case] = [
        ([0], 1), ([3], 1), ([0, 0], 2),
        // An interrupted poll has reported nothing, for example because the process was stopped.
        ([-1], 0), ([2, -1], 1), ([-1, 0], 2),
        // After a full one, there may be more.
        ([4], 0), ([4, 4], 0), ([4, 3], 2), ([4, -1, 1], 3), ([1, 4], 1),
        // All ten were reported by the third: descriptors take turns.
        ([4, 4, 4], 1), ([4, -1, 4, 4], 1), ([4, 4, 4, 4, 4], 1), ([4, 4, 4, 4, 4, 4], 4),
    ]

    /// A poller that has up to ten reports, and returns up to four at a time; each poll is one second after the last.
    ///
    /// Shows P153.
    @Test(arguments: cases)
    func `everything is reported up to the start of the last poll that could report it all`(
        _ counts: [Int],
        _ time: UInt64
    ) {
        var horizon = PollHorizon()
        for (index, count) in counts.enumerated() {
            horizon.polled(at: UInt64(index) + 1, count: count, capacity: 4, limit: 10)
        }
        #expect(horizon.time == time)
    }

    @Test func `descriptors that are no longer watched hide none that are`() {
        var horizon = PollHorizon()
        var times: [UInt64] = []
        // Of ten ready descriptors, the first four end with their reports.
        for (index, limit) in [10, 6, 6].enumerated() {
            horizon.polled(at: UInt64(index) + 1, count: 4, capacity: 4, limit: limit)
            times.append(horizon.time)
        }
        #expect(times == [0, 0, 1])
    }
}
