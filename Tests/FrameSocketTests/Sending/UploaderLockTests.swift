import Foundation
import FrameSocket
import FrameSocketTesting
import Locking
import TestSupport
import Testing

#if os(Linux)
    import Glibc
#endif

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

    #if os(Linux)
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

            // A change that is made while the frame is compared: by the clock of the thread that compares, which stands still
            // while that thread does, between a quarter and three quarters of what all of it takes.
            let isMadeMeanwhile = await becomesTrue { changesWhileCompared(receiver.uploader, large, size) > 0 }
            #expect(isMadeMeanwhile, "a change waits for a frame to be compared")
        }

        /// Offers a frame on another thread, and counts the changes that begin and end in the middle of that.
        private func changesWhileCompared(_ uploader: SampleUploader, _ frame: FrameBytes, _ size: BufferSize) -> Int {
            let (offering, isOver) = (Locked(clockid_t?.none), Locked(Double?.none))
            Thread.detachNewThread {
                var clock = clockid_t()
                unsafe pthread_getcpuclockid(pthread_self(), &clock)
                offering.withLock { $0 = clock }
                uploader.send(jpeg: frame, bufferSize: size)
                isOver.withLock { $0 = seconds(of: clock) }
            }
            while offering.withLock({ $0 }) == nil { sched_yield() }
            guard let clock = offering.withLock({ $0 }) else { return 0 }
            var changes: [(begin: Double, end: Double)] = []
            while true {
                let begin = seconds(of: clock)
                uploader.update { $0.quality = 50 + changes.count % 20 }
                let end = seconds(of: clock)
                if let total = isOver.withLock({ $0 }) {
                    return changes.count { $0.begin > total / 4 && $0.end < total * 3 / 4 }
                }
                changes.append((begin, end))
                // A lock has no order: without a pause between them the changes might keep the frame from its own turn.
                usleep(100)
            }
        }

        /// The time that the thread of a clock has had on a processor; 0 after its end.
        private func seconds(of clock: clockid_t) -> Double {
            var time = timespec()
            unsafe clock_gettime(clock, &time)
            return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
        }
    #endif

    @Test func `the age of a queued frame is never more than the elapsed time`() async throws {
        let receiver = try RawReceiver()
        let visit = try await receiver.accept()
        #expect(await becomesTrue { receiver.uploader.hasReceiver })
        let reading = Task { while try await visit.socket.nextMessage() != nil {} }
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
        #expect(await becomesTrue { uploader.statistics.queueAge.count > 1000 || isAbsurd(uploader, since: start) })
        #expect(!isAbsurd(uploader, since: start), "\(uploader.statistics.queueAge)")
        reading.cancel()
    }

    private func isAbsurd(_ uploader: SampleUploader, since start: UInt64) -> Bool {
        uploader.statistics.queueAge.maximum.nanoseconds > MonotonicClock.now() - start
    }
}
