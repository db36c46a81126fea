import FrameSocket
import FrameSocketTesting
import TestSupport
import Testing

/// The last frame of a burst arrives over a socket, whatever the pacing left out before it.
@Suite(.timeLimit(.minutes(5))) struct LastOfBurstTests {
    /// A frame's worth of nanoseconds at 60 Hz.
    private static let step: UInt64 = 16_666_667

    private static let pacings: [SampleUploader.Pacing] = [
        .framesPerSecond(15), .framesPerSecond(2), .every(3), .every(7), .adaptive(still: 5, motion: 15),
        .framesPerSecond(15).skippingUnchanged(keepAlive: nil), .every(3).skippingUnchanged(keepAlive: nil),
    ]

    /// The timestamps of the frames that come, up to that of the frame `last`.
    private func timestamps(of visit: RawReceiver.Visit, to last: UInt64) async throws -> [UInt64] {
        var timestamps: [UInt64] = []
        while timestamps.last != last, let frame = try await visit.frame() { timestamps.append(frame.timestamp ?? 0) }
        return timestamps
    }

    /// Shows P67.
    @Test(arguments: pacings, [2, 6])
    func `the last frame of a burst arrives, once and after the others`(pacing: SampleUploader.Pacing, count: Int)
        async throws
    {
        let receiver = try RawReceiver(.init(pacing: pacing))
        let visit = try await receiver.accept()
        #expect(await becomesTrue { receiver.uploader.hasReceiver })
        let start = MonotonicClock.now()
        for index in 0..<count { receiver.uploader.offer(index, timestamp: start + UInt64(index) * Self.step) }
        let last = start + UInt64(count - 1) * Self.step
        let timestamps = try await timestamps(of: visit, to: last)
        #expect(timestamps.last == last, "the last frame does not arrive")
        #expect(timestamps == timestamps.sorted() && Set(timestamps).count == timestamps.count)
    }

    @Test func `a newer frame replaces the one that waits for its time`() async throws {
        let receiver = try RawReceiver(.init(pacing: .framesPerSecond(4)))
        let visit = try await receiver.accept()
        #expect(await becomesTrue { receiver.uploader.hasReceiver })
        let start = MonotonicClock.now()
        for index in 0..<5 { receiver.uploader.offer(index, timestamp: start + UInt64(index) * Self.step) }
        let timestamps = try await timestamps(of: visit, to: start + 4 * Self.step)
        // Those in between were not due, and the last one took their place.
        #expect(timestamps == [start, start + 4 * Self.step])
    }

    /// Shows P207.
    @Test(arguments: [SampleUploader.Pacing.framesPerSecond(0.001), .every(1000)])
    func `finishing sends the last frame at once`(pacing: SampleUploader.Pacing) async throws {
        let receiver = try RawReceiver(.init(pacing: pacing))
        let visit = try await receiver.accept()
        #expect(await becomesTrue { receiver.uploader.hasReceiver })
        let start = MonotonicClock.now()
        for index in 0..<6 { receiver.uploader.offer(index, timestamp: start + UInt64(index) * Self.step) }
        try await receiver.uploader.settle()
        let timestamps = try await timestamps(of: visit, to: start + 5 * Self.step)
        #expect(timestamps.last == start + 5 * Self.step)
    }

    @Test func `finishing does not wait for a receiver`() async throws {
        let directory = try TemporaryDirectory()
        let uploader = SampleUploader(connection: directory.connection())
        uploader.offer(1)
        try await uploader.settle()
    }

    @Test func `the last frame of a stream is sent, at the configured rate and no faster`() async throws {
        let receiver = try RawReceiver(.init(pacing: .framesPerSecond(15)))
        let visit = try await receiver.accept()
        #expect(await becomesTrue { receiver.uploader.hasReceiver })
        let start = MonotonicClock.now()
        for index in 0..<42 { receiver.uploader.offer(index, timestamp: start + UInt64(index) * Self.step) }
        let last = start + 41 * Self.step
        let timestamps = try await timestamps(of: visit, to: last)
        #expect(timestamps.last == last)
        // Every fourth of 42, and the last one; fewer if newer ones came before their turn.
        #expect(timestamps.count <= 12)
    }
}
