import TestDescriptions
import Testing

@testable import FrameSocketTool

/// When frames that are sent at a fixed rate are due.
@Suite(.tags(.computes)) struct SendingScheduleTests {
    /// The times at which each next frame is asked for, and at which it is due, in milliseconds from the first.
    static let cases: [(rate: Double, asked: [Int], due: [Int])] = [
        // A source that is faster than the rate is held back to it.
        (10, [0, 1, 2, 3], [0, 100, 200, 300]),
        // A small delay is made up for.
        (10, [0, 340, 341, 342, 343], [0, 100, 200, 300, 400]),
        // After a stall frames follow an interval apart, however many were missed.
        (10, [0, 1_000, 1_001, 1_002], [0, 1_000, 1_100, 1_200]),
        (10, [0, 100, 351 + 200, 552, 553], [0, 100, 551, 651, 751]),
        // Exactly as late as may be is no stall.
        (10, [0, 350, 351], [0, 100, 200]),
        // At a slow rate one interval is no stall either.
        (1, [0, 2_000, 2_001], [0, 1_000, 2_000]), (1, [0, 2_001, 2_002], [0, 2_001, 3_001]),
    ]

    @Test(arguments: cases)
    func `frames are due at the rate, and after a stall an interval apart again`(
        example: (rate: Double, asked: [Int], due: [Int])
    ) {
        var schedule = SendingSchedule(framesPerSecond: example.rate)
        let start = ContinuousClock.now
        let due = example.asked.map { schedule.next(after: start + .milliseconds($0)) - start }
        #expect(due == example.due.map { .milliseconds($0) })
    }

    @Test func `without a rate every frame is due at once, and has no time of the schedule`() {
        var schedule = SendingSchedule(framesPerSecond: nil)
        let now = ContinuousClock.now
        #expect(schedule.next(after: now) == now && schedule.next(after: now - .seconds(9)) == now - .seconds(9))
        let time = schedule.wait()
        #expect(time == nil)
    }

    @Test func `the times of frames follow the schedule, and not the moment at which they are ready`() {
        var schedule = SendingSchedule(framesPerSecond: 1_000)
        var times: [UInt64] = []
        let start = ContinuousClock.now
        for _ in 0..<3 { times.append(schedule.wait() ?? 0) }
        #expect(ContinuousClock.now - start >= .milliseconds(2))
        // More only if this machine stood still.
        #expect(times[1] - times[0] >= 1_000_000 && times[2] - times[1] >= 1_000_000)
    }
}
