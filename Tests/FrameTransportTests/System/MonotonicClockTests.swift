import FrameTransport
import Testing

/// The clock of deadlines and timestamps, as one of Swift's clocks.
@Suite struct MonotonicClockTests {
    private typealias Instant = MonotonicClock.Instant

    @Test(
        arguments: [
            (5, .nanoseconds(7), 12), (5, .nanoseconds(-5), 0), (5, .nanoseconds(-6), 0), (5, .zero, 5),
            (.max - 1, .nanoseconds(1), .max), (.max, .nanoseconds(1), .max), (0, .nanoseconds(1).advanced(-1), 0),
            (1, .seconds(18_446_744_073), 18_446_744_073_000_000_001), (0, .seconds(18_446_744_074), .max),
            (9, .seconds(Int64.max), .max), (9, .seconds(Int64.min), 0),
            (9, Duration(attoseconds: .min), 0), (9, Duration(attoseconds: .max), .max),
            (1_500_000_000, .milliseconds(-1_499), 1_000_000),
        ] as [(UInt64, Duration, UInt64)]
    )
    func `a time is moved by any duration, and stays within what can be expressed`(
        start: UInt64,
        duration: Duration,
        end: UInt64
    ) {
        #expect(Instant(nanoseconds: start).advanced(by: duration) == Instant(nanoseconds: end))
    }

    @Test(arguments: [0, 1, 999_999_999, 1_000_000_000, .max] as [UInt64], [0, 1, 12_345_678_901, .max] as [UInt64])
    func `the duration between two times leads from one to the other`(start: UInt64, end: UInt64) {
        let (start, end) = (Instant(nanoseconds: start), Instant(nanoseconds: end))
        #expect(start.advanced(by: start.duration(to: end)) == end)
        #expect((start < end) == (start.duration(to: end) > .zero))
    }

    @Test func `it sleeps until a time has come, and no longer than a task lasts`() async throws {
        let clock = MonotonicClock()
        let deadline = clock.now.advanced(by: .milliseconds(5))
        try await clock.sleep(until: deadline)
        #expect(clock.now >= deadline)
        let task = Task { try await clock.sleep(until: Instant(nanoseconds: .max)) }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(clock.now.nanoseconds <= MonotonicClock.now())
    }
}

extension Duration {
    /// This duration, less some attoseconds.
    fileprivate func advanced(_ attoseconds: Int64) -> Duration {
        self + Duration(secondsComponent: 0, attosecondsComponent: attoseconds)
    }
}
