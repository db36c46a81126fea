import Foundation
import FrameSocket
import FrameSocketTesting
import TestSupport
import Testing

/// The uploader holds no lock while other code runs, or while it looks at every byte of a frame.
@Suite(.timeLimit(.minutes(5))) struct UploaderLockTests {
    /// Shows P211.
    @Test func `the closure that changes the configuration may use the uploader`() async {
        // A thread that waits for itself is never got rid of.
        await #expect(processExitsWith: .success) {
            let directory = try TemporaryDirectory()
            let uploader = SampleUploader(connection: directory.connection())
            let isDone = Flag()
            Thread.detachNewThread {
                uploader.update { configuration in
                    _ = uploader.statistics
                    _ = uploader.configuration
                    uploader.requestFrame()
                    uploader.offer(1)
                    configuration.quality = 33
                }
                isDone.set()
            }
            try #require(await becomesTrue { isDone.isSet }, "it waits for itself")
            #expect(uploader.configuration.quality == 33)
        }
    }

    @Test func `nested changes and changes from several threads all count`() async {
        await #expect(processExitsWith: .success) {
            let directory = try TemporaryDirectory()
            let uploader = SampleUploader(connection: directory.connection(), configuration: .init(quality: 1))
            let done = Counter()
            for _ in 0..<4 {
                Thread.detachNewThread {
                    for _ in 0..<20 { uploader.update { $0.quality += 1 } }
                    done.increment()
                }
            }
            try #require(await becomesTrue { done.value == 4 })
            #expect(uploader.configuration.quality == 81)
        }
    }

    /// Shows P211.
    @Test func `a large frame that is being compared delays neither changes nor the receiver's requests`()
        async throws
    {
        var configuration = SampleUploader.Configuration(pacing: .everyFrame.skippingUnchanged(keepAlive: nil))
        configuration.limits.maximumContentLength = 64 << 20
        let receiver = try RawReceiver(configuration)
        let visit = try await receiver.accept()
        try await visit.ask(.helloForImages)
        _ = try await visit.framesBeforePong(1)
        // Its bytes are compared whenever it is offered, and never differ.
        let large = FrameBytes(body(1, count: 64 << 20))
        let size = BufferSize(width: 562, height: 1218)
        receiver.uploader.send(jpeg: large, bufferSize: size)
        #expect(try await visit.frame()?.body.count == 64 << 20)
        try await receiver.uploader.settle()

        // How many changes are made while one frame is compared: the first would wait for it if it had to.
        var rounds: [Int] = []
        for _ in 0..<9 {
            let (uploader, isCompared) = (receiver.uploader, Flag())
            Thread.detachNewThread {
                uploader.send(jpeg: large, bufferSize: size)
                isCompared.set()
            }
            var changes = 0
            while !isCompared.isSet {
                uploader.update { $0.quality = 50 + changes % 20 }
                changes += 1
                // A lock has no order: without a pause between them the changes might keep the frame from its own turn.
                try await Task.sleep(for: .microseconds(100))
            }
            rounds.append(changes)
        }
        #expect(rounds.sorted()[4] >= 5, "a change waits for a frame to be compared: \(rounds)")
    }

    @Test func `the age of a queued frame is never more than the elapsed time`() async throws {
        let receiver = try RawReceiver()
        let visit = try await receiver.accept()
        #expect(await becomesTrue { receiver.uploader.hasReceiver })
        let reading = Task { while try await visit.reader.next() != nil {} }
        let (uploader, isOver) = (receiver.uploader, Flag())
        defer { isOver.set() }
        let start = MonotonicClock.now()
        let frame = content(1, count: 100)
        for _ in 0..<2 {
            Thread.detachNewThread {
                while !isOver.isSet { uploader.send(jpeg: frame, bufferSize: BufferSize(width: 8, height: 8)) }
            }
        }
        // A newer frame takes the place of one whose turn has just begun.
        #expect(await eventually { uploader.statistics.queueAge.count > 1000 || isAbsurd(uploader, since: start) })
        #expect(!isAbsurd(uploader, since: start), "\(uploader.statistics.queueAge)")
        reading.cancel()
    }

    private func isAbsurd(_ uploader: SampleUploader, since start: UInt64) -> Bool {
        uploader.statistics.queueAge.maximum.nanoseconds > MonotonicClock.now() - start
    }
}
