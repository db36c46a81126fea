import Foundation
import FrameSocketTesting
import Locking
import TestSupport
import Testing

@testable import FrameSocket

/// Finishing completes what was offered before it, and nothing else.
@Suite(.timeLimit(.minutes(5))) struct UploaderFinishTests {
    /// Shows P207.
    @Test func `finishing completes while frames keep arriving`() async throws {
        let receiver = try RawReceiver()
        let visit = try await receiver.accept()
        let uploader = receiver.uploader
        #expect(await becomesTrue { uploader.hasReceiver })
        // More than a socket holds: each is under way until it is read, and another one waits behind it by then.
        let large = content(1, count: 12_000_000)
        let size = BufferSize(width: 562, height: 1218)
        uploader.send(jpeg: large, bufferSize: size)
        #expect(await becomesTrue { uploader.statistics.queueAge.count == 1 })
        uploader.send(jpeg: large, bufferSize: size)
        let isFinished = Flag()
        Task {
            _ = try await uploader.finish()
            isFinished.set()
        }
        await IOThread.shared.settle()
        var taken = 0
        while taken < 12, !isFinished.isSet {
            #expect(try await visit.frame()?.body.count == large.count)
            taken += 1
            uploader.send(jpeg: large, bufferSize: size)
            #expect(await becomesTrue { uploader.statistics.queueAge.count > taken })
            uploader.send(jpeg: large, bufferSize: size)
        }
        #expect(isFinished.isSet, "the frames that were offered before it are out, and it has not ended")
        #expect(taken >= 1)
    }

    @Test func `finishing means that everything submitted before has been sent`() async throws {
        let receiver = try RawReceiver()
        let visit = try await receiver.accept()
        #expect(await becomesTrue { receiver.uploader.hasReceiver })
        for round in 0..<50 {
            receiver.uploader.offer(round)
            try await receiver.uploader.settle()
            #expect(receiver.uploader.statistics.sent == round + 1)
            #expect(try await visit.frame()?.body == body(round, count: 12_000))
        }
    }

    @Test(arguments: [false, true])
    func `waiting for the finish can be cancelled, which changes nothing`(isCancelledFirst: Bool) async throws {
        let receiver = try RawReceiver()
        let visit = try await receiver.accept()
        #expect(await becomesTrue { receiver.uploader.hasReceiver })
        // Nobody reads, and it is more than a socket holds.
        receiver.uploader.offer(1, count: 30_000_000)
        let uploader = receiver.uploader
        let finishing = Task {
            if isCancelledFirst { unsafe withUnsafeCurrentTask { unsafe $0?.cancel() } }
            _ = try await uploader.finish()
        }
        await IOThread.shared.settle()
        finishing.cancel()
        let error = try await soon { () async throws -> TransportError? in
            do {
                try await finishing.value
                return nil
            } catch {
                return error as? TransportError
            }
        }
        #expect(error??.code == .cancelled)
        #expect(try await visit.frame()?.body.count == 30_000_000)
        try await uploader.settle()
        #expect(uploader.statistics.sent == 1)
    }
}
