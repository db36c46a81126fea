import Dispatch
import Foundation
import FrameSocket
import FrameSocketTesting
import Locking
import TestSupport
import Testing

/// What an uploader's methods promise to those who call them: order, cancellation, and that nobody waits for himself.
@Suite(.timeLimit(.minutes(5))) struct UploaderCallTests {
    let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    // MARK: Updates

    /// Limits in which a number can count anything: an uploader does not use it.
    private static var none: FrameMessageDecoder.Limits {
        var limits = FrameMessageDecoder.Limits()
        limits.maximumFields = 0
        return limits
    }

    /// Shows P79, P211.
    @Test func `a configuration change may use the uploader, and update that and others; the outer one wins`() throws {
        let uploaders = [40, 50].map { quality in
            SampleUploader(connection: directory.connection(), configuration: .init(quality: quality))
        }
        let image = try testImage(8, 8)
        uploaders[0].update { first in
            #expect(uploaders[0].statistics.offered == 0 && uploaders[0].configuration.quality == 40)
            uploaders[0].send(image)
            uploaders[0].requestFrame()
            uploaders[1].update { second in
                uploaders[0].update { ($0.quality, $0.scale) = (60, .half) }
                #expect(uploaders[0].configuration.quality == 60)
                second.quality += 1
            }
            first.quality += 1
        }
        #expect(uploaders.map(\.configuration.quality) == [41, 51])
        #expect(uploaders[0].configuration.scale == .half && uploaders[0].statistics.offered == 1)
    }

    /// Shows P79.
    @Test func `no update from several threads is lost`() async {
        let uploader = SampleUploader(connection: directory.connection(), configuration: .init(limits: Self.none))
        await withTaskGroup { group in
            for _ in 0..<8 {
                group.addTask {
                    for _ in 0..<100 { uploader.update { $0.limits.maximumFields += 1 } }
                }
            }
        }
        #expect(uploader.configuration.limits.maximumFields == 800)
    }

    /// Shows P79.
    @Test func `a task that was created inside an update loses no other`() async {
        let uploader = SampleUploader(connection: directory.connection(), configuration: .init(limits: Self.none))
        let entered = DispatchSemaphore(value: 0)
        let isInside = Locked(false)
        let task = Locked<Task<Void, Never>?>(nil)
        uploader.update { _ in
            task.withLock {
                $0 = Task {
                    entered.signal()
                    uploader.update { configuration in
                        // The update that it was created in is over.
                        let isOver = !isInside.withLock { $0 }
                        #expect(isOver)
                        configuration.limits.maximumFields += 1
                    }
                }
            }
            isInside.withLock { $0 = true }
            // It is about to update, or waits for the end of this.
            entered.wait()
            for _ in 0..<100 { sched_yield() }
            isInside.withLock { $0 = false }
        }
        await task.withLock { $0 }?.value
        #expect(uploader.configuration.limits.maximumFields == 1)
    }

    // MARK: Finishing

    @Test func `waiting for frames ends when the task is cancelled`() async throws {
        let receiver = try RawReceiver { $0.reopens = false }
        let (uploader, peer) = (receiver.uploader, try await receiver.accept().socket)
        #expect(await becomesTrue { uploader.hasReceiver })
        // No socket's buffer holds it.
        uploader.offer(1, count: 30_000_000)
        let waiting = (0..<2).map { _ in Task { await uploader.finishFailure()?.code } }
        waiting[0].cancel()
        #expect(await waiting[0].value == .cancelled)
        let late = Task {
            unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
            return await uploader.finishFailure()?.code
        }
        #expect(await late.value == .cancelled, "a task that was cancelled before waits")
        // The frame goes on, and whoever was not cancelled is told of its end.
        #expect(uploader.statistics.inProgress == 1)
        peer.close()
        let code = try #require(await waiting[1].value)
        #expect([.closed, .connectionLost].contains(code), "\(code)")
        #expect(uploader.statistics.dropped == 1)
    }

    // MARK: Time

    /// Shows P65, P69.
    @Test func `the latest frame is repeated while the source is silent`() async throws {
        let pacing = SampleUploader.Pacing.everyFrame.skippingUnchanged(keepAlive: .milliseconds(1))
        let receiver = try RawReceiver(.init(pacing: pacing))
        let (uploader, peer) = (receiver.uploader, try await receiver.accept().socket)
        let body = body(7, count: 20_000)
        let header = FrameHeader(
            contentLength: body.count,
            info: FrameInfo(
                bufferSize: BufferSize(width: 562, height: 1218),
                orientation: .left,
                timestamp: 12_345,
                sequence: 0
            )
        )
        uploader.offer(7, count: 20_000, orientation: .left, timestamp: 12_345)
        let message = header.encoded() + body
        for _ in 0..<4 { #expect(try await peer.read(message.count) == message) }
        #expect(await becomesTrue { uploader.statistics.repeats >= 3 })
        #expect(uploader.statistics.sent == 1 && uploader.statistics.dropped == 0)
    }

    // MARK: Contents

    /// Shows P211.
    @Test func `a frame is released without a lock being held`() async throws {
        let connection = directory.connection()
        let uploader = SampleUploader(connection: connection)
        let released = Counter()
        let memory = UnsafeMutablePointer<UInt8>.allocate(capacity: 64 * 64)
        unsafe memory.initialize(repeating: 0, count: 64 * 64)
        defer { unsafe memory.deallocate() }
        for _ in 0..<3 {
            // The owner of the pixels asks the uploader something when it gets them back.
            let image = try unsafe PixelBuffer(
                adopting: [(UnsafePointer(memory), 64)],
                width: 64,
                height: 64,
                format: .gray
            ) { [weak uploader] in
                if uploader?.statistics.offered ?? 0 > 0 { released.increment() }
            }
            uploader.send(image)
        }
        #expect(released.value == 2)
        // Nobody will get the latest one any more.
        connection.close()
        #expect(await becomesTrue { released.value == 3 })
    }

    #if os(Linux)
        // MARK: Threads

        @Test func `many uploaders encode on a few threads`() async throws {
            let server = try PeerSocket.listening(at: directory.socket)
            var (uploaders, peers): ([SampleUploader], [PeerSocket]) = ([], [])
            for _ in 0..<64 {
                let connection = directory.connection { $0.reopens = false }
                try await connection.open(within: nil)
                uploaders.append(SampleUploader(connection: connection))
                peers.append(try await server.accepted())
            }
            let image = try testImage(1280, 720)
            let threads = { (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").count) ?? 0 }
            let before = threads()
            for uploader in uploaders { uploader.send(image) }
            var most = 0
            let isDone = await becomesTrue {
                most = max(most, threads())
                return uploaders.allSatisfy { $0.statistics.encoding.count == 1 }
            }
            #expect(isDone && most < before + 40, "\(before) threads before, and up to \(most)")
            for uploader in uploaders { uploader.connection.close() }
            withExtendedLifetime(peers) {}
        }
    #endif
}
