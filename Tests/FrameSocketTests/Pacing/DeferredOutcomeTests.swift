import Foundation
import FrameSocket
import FrameSocketTesting
import TestSupport
import Testing

/// What an uploader says of a frame that is not sent now, and how it counts what becomes of it.
@Suite(.timeLimit(.minutes(5))) struct DeferredOutcomeTests {
    /// Why no frame may be sent.
    enum Obstacle: CaseIterable {
        case nobodyConnected, pause, nothingWanted, pacing

        var cause: SampleUploader.DropCause {
            switch self {
            case .nobodyConnected: .notConnected
            case .pause: .paused
            case .nothingWanted: .notWanted
            case .pacing: .paced
            }
        }
    }

    @Test(arguments: Obstacle.allCases)
    func `a frame is deferred for its cause, and sent when the cause ends`(obstacle: Obstacle) async throws {
        let isPaced = obstacle == .pacing
        let receiver = try RawReceiver(.init(pacing: isPaced ? .framesPerSecond(2) : .everyFrame))
        let uploader = receiver.uploader
        var visit = try await receiver.accept()
        try await visit.ask(.helloForImages)
        _ = try await visit.framesBeforePong(1)
        let start = MonotonicClock.now()
        #expect(uploader.offer(0, timestamp: start) == .taken)
        #expect(try await visit.frame()?.body == body(0, count: 12_000))
        try await uploader.settle()

        var next: PeerSocket?
        switch obstacle {
        case .nobodyConnected:
            unsafe unlink(receiver.directory.socket)
            receiver.listener.close()
            visit.socket.close()
            #expect(await becomesTrue { !uploader.hasReceiver })
        case .pause:
            try await visit.ask(.pause)
            _ = try await visit.framesBeforePong(2)
        case .nothingWanted:
            try await visit.ask(.hello(ControlRequest.Hello(wants: [])))
            _ = try await visit.framesBeforePong(2)
        case .pacing:
            break
        }
        for seed in 1...3 {
            #expect(uploader.offer(seed, timestamp: start + UInt64(seed) * 1_000_000) == .deferred(obstacle.cause))
        }
        switch obstacle {
        case .nobodyConnected: next = try PeerSocket.listening(at: receiver.directory.socket)
        case .pause: try await visit.ask(.resume)
        case .nothingWanted: try await visit.ask(.helloForImages)
        case .pacing: break
        }
        if let next {
            let socket = try #require(try await soon { try await next.accepted() })
            visit = RawReceiver.Visit(socket: socket)
        }
        // Of those that were deferred, only the newest.
        #expect(try await visit.frame()?.body == body(3, count: 12_000))
        try await uploader.settle()
        #expect(await becomesTrue { uploader.statistics.inProgress == 0 })
        let statistics = uploader.statistics
        #expect(statistics.offered == 4 && statistics.sent == 2 && statistics.repeats == 0)
        #expect(statistics.dropped == 2 && statistics.drops == [obstacle.cause: 2])
    }

    @Test func `a frame that is sent again counts as a repeat, and once as sent`() async throws {
        let receiver = try RawReceiver()
        let uploader = receiver.uploader
        let visit = try await receiver.accept()
        try await visit.ask(.helloForImages)
        _ = try await visit.framesBeforePong(1)
        uploader.offer(1)
        #expect(try await visit.frame() != nil)
        for repeats in 1...3 {
            try await uploader.settle()
            try await visit.ask(.refresh)
            #expect(try await visit.frame()?.body == body(1, count: 12_000))
            #expect(await becomesTrue { uploader.statistics.repeats == repeats })
        }
        let statistics = uploader.statistics
        #expect(statistics.offered == 1 && statistics.sent == 1 && statistics.bytes == 12_000)
        #expect(statistics.dropped == 0)
    }

    @Test func `a connection that has ended for good defers nothing`() async throws {
        let receiver = try RawReceiver()
        _ = try await receiver.accept()
        receiver.uploader.connection.close()
        _ = try await soon { try await receiver.uploader.connection.closed() }
        #expect(receiver.uploader.offer(1) == .dropped(.notConnected))
        try await receiver.uploader.settle()
    }

    @Test func `an unchanged frame is dropped, and not deferred`() async throws {
        let receiver = try RawReceiver(.init(pacing: .everyFrame.skippingUnchanged(keepAlive: nil)))
        let visit = try await receiver.accept()
        #expect(await becomesTrue { receiver.uploader.hasReceiver })
        #expect(receiver.uploader.offer(1) == .taken)
        #expect(try await visit.frame() != nil)
        #expect(receiver.uploader.offer(1) == .dropped(.unchanged))
    }

    @Test func `if only one frame can be held, the newest is sent instead of the waiting one`() async throws {
        let receiver = try RawReceiver(.init(pacing: .every(2), maximumMemory: 38 << 20))
        let uploader = receiver.uploader
        let visit = try await receiver.accept()
        #expect(await becomesTrue { uploader.hasReceiver })
        // Under way as long as nobody reads.
        uploader.offer(0, count: 32 << 20)
        #expect(await becomesTrue { uploader.statistics.queueAge.count == 1 })
        for seed in 1...3 { uploader.offer(seed, count: 4 << 20) }
        var seeds: [Int] = []
        while seeds.last != 3, let frame = try await visit.frame() {
            seeds.append((0...3).first { frame.body.starts(with: body($0, count: 4099)) } ?? -1)
        }
        #expect(seeds.first == 0 && seeds.last == 3, "\(seeds)")
    }
}
