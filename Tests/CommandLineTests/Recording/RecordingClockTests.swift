import Testing

@testable import FrameSocketTool

/// When each frame of a recording is shown.
@Suite struct RecordingClockTests {
    struct Arrival {
        var connection = 1
        var timestamp: UInt64?
        let receivedAt: UInt64
        let time: UInt64
    }

    private static let minute: UInt64 = 60_000_000_000

    static let cases: [(name: String, frames: [Arrival])] = [
        (
            "the sender's own times, whatever time the frames took to arrive",
            [
                Arrival(timestamp: 500, receivedAt: 10_000, time: 0),
                Arrival(timestamp: 600, receivedAt: 90_000, time: 100),
                Arrival(timestamp: 650, receivedAt: 90_001, time: 150),
            ]
        ),
        (
            "the times of arrival without others",
            [Arrival(receivedAt: 10, time: 0), Arrival(receivedAt: 40, time: 30), Arrival(receivedAt: 45, time: 35)]
        ),
        (
            "the time between two arrivals for a time that is before the last one",
            [
                Arrival(timestamp: 500, receivedAt: 10, time: 0), Arrival(timestamp: 400, receivedAt: 40, time: 30),
                Arrival(timestamp: 410, receivedAt: 90, time: 40),
            ]
        ),
        (
            "an hour is believed, and not more",
            [
                Arrival(timestamp: 0, receivedAt: 10, time: 0),
                Arrival(timestamp: 60 * minute, receivedAt: 20, time: 60 * minute),
                Arrival(timestamp: 120 * minute + 1, receivedAt: 50, time: 60 * minute + 30),
            ]
        ),
        (
            "the time between two arrivals from one sender to the next, whose clock is ahead by less than an hour",
            [
                Arrival(timestamp: 500, receivedAt: 10, time: 0),
                Arrival(connection: 2, timestamp: 500 + 10 * minute, receivedAt: 40, time: 30),
                Arrival(connection: 2, timestamp: 600 + 10 * minute, receivedAt: 41, time: 130),
                // And back: nothing of an earlier connection counts.
                Arrival(connection: 3, timestamp: 700 + 10 * minute, receivedAt: 61, time: 150),
            ]
        ),
        (
            "a moment later if nothing else is known",
            [
                Arrival(timestamp: 7, receivedAt: 10, time: 0), Arrival(timestamp: 7, receivedAt: 10, time: 1),
                Arrival(receivedAt: 9, time: 2),
            ]
        ),
    ]

    @Test(arguments: cases.indices)
    func `the time of a frame is later than that of the last one by what its sender says, or by when it came`(
        index: Int
    ) {
        let (name, frames) = Self.cases[index]
        var clock = RecordingClock()
        let times = frames.map {
            clock.time(timestamp: $0.timestamp, receivedAt: $0.receivedAt, connection: $0.connection)
        }
        #expect(times == frames.map(\.time), "\(name)")
    }
}
