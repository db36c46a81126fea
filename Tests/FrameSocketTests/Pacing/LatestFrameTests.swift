import FrameSocket
import FrameSocketTesting
import TestSupport
import Testing

/// A receiver that wants frames has the latest one, however silent the source is and whatever happened before.
@Suite(.timeLimit(.minutes(5))) struct LatestFrameTests {
    /// Pacings under which a receiver has the latest frame all the same.
    private static let pacings: [SampleUploader.Pacing] = [
        .everyFrame, .everyFrame.skippingUnchanged(keepAlive: nil), .framesPerSecond(1),
        .framesPerSecond(1).skippingUnchanged(keepAlive: nil), .every(3),
    ]

    // MARK: New receivers

    /// Shows P61.
    @Test(arguments: pacings)
    func `a receiver that connects after the only frame was submitted gets it at once`(pacing: SampleUploader.Pacing)
        async throws
    {
        let directory = try TemporaryDirectory()
        let uploader = SampleUploader(connection: directory.connection(), configuration: .init(pacing: pacing))
        uploader.offer(1)
        uploader.offer(2, timestamp: nil)
        let listener = try PeerSocket.listening(at: directory.socket)
        let socket = try await listener.accepted()
        let frame = try await soon { try await socket.nextMessage(where: \.isFrame) }
        #expect(frame??.body == body(2, count: 12_000))
    }

    @Test(arguments: pacings)
    func `a receiver that returns gets the frame that it had, without a new one being submitted`(
        pacing: SampleUploader.Pacing
    )
        async throws
    {
        let receiver = try RawReceiver(.init(pacing: pacing))
        var visit = try await receiver.accept()
        #expect(await becomesTrue { receiver.uploader.hasReceiver })
        receiver.uploader.offer(1)
        #expect(try await visit.frame()?.body == body(1, count: 12_000))
        for round in 0..<3 {
            visit.socket.close()
            visit = try await receiver.accept()
            #expect(try await visit.frame()?.body == body(1, count: 12_000), "round \(round)")
        }
    }

    /// Shows P296.
    @Test func `a receiver that returns gets an unchanged frame for whose equal there was no memory`() async throws {
        let pacing = SampleUploader.Pacing.framesPerSecond(0.01).skippingUnchanged(keepAlive: nil)
        let receiver = try RawReceiver(.init(pacing: pacing, maximumMemory: 20_000))
        let first = try await receiver.accept()
        #expect(await becomesTrue { receiver.uploader.hasReceiver })
        receiver.uploader.offer(1)
        #expect(try await first.frame()?.body == body(1, count: 12_000))
        try await receiver.uploader.finish()
        // It takes the memory of the frame that was sent, and then it is not sent itself.
        receiver.uploader.offer(1)
        try await receiver.uploader.finish()
        #expect(receiver.uploader.statistics.drops == [.unchanged: 1])
        first.socket.close()
        let second = try await receiver.accept()
        #expect(try await second.frame()?.body == body(1, count: 12_000), "the new receiver sees nothing")
    }

    /// Shows P72.
    @Test func `a reconnection between two equal frames is noticed even if unchanged ones are skipped`()
        async throws
    {
        let receiver = try RawReceiver(.init(pacing: .everyFrame.skippingUnchanged(keepAlive: nil)))
        let image = try testImage(64, 48)
        let first = try await receiver.accept()
        #expect(await becomesTrue { receiver.uploader.hasReceiver })
        receiver.uploader.send(image)
        #expect(try await first.frame()?.width == 64)
        try await receiver.uploader.settle()
        first.socket.close()
        let second = try await receiver.accept()
        #expect(await becomesTrue { receiver.uploader.hasReceiver })
        receiver.uploader.send(image)
        #expect(try await second.frame()?.width == 64, "the new receiver sees nothing")
    }

    /// Shows P62.
    @Test func `a receiver that says hello at once gets the latest frame once`() async throws {
        for _ in 0..<20 {
            let receiver = try RawReceiver()
            receiver.uploader.offer(1)
            let visit = try await receiver.accept()
            try await visit.ask(.helloForImages)
            #expect(try await visit.frame()?.body == body(1, count: 12_000))
            try await receiver.uploader.settle()
            _ = try await visit.framesBeforePong(1)
            try await receiver.uploader.settle()
            // The first came above; were there another one, it would be out by now.
            try #require(try await visit.framesBeforePong(2).isEmpty, "it came twice")
            #expect(receiver.uploader.statistics.sent <= 1)
        }
    }

    /// Shows P63.
    @Test func `a receiver that asks for frames only later gets the latest frame then`() async throws {
        let receiver = try RawReceiver()
        let visit = try await receiver.accept()
        try await visit.ask(.hello(ControlRequest.Hello(wants: [])))
        _ = try await visit.framesBeforePong(1)
        receiver.uploader.offer(1)
        #expect(try await visit.framesBeforePong(2).isEmpty)
        try await visit.ask(.helloForImages)
        #expect(try await visit.frame()?.body == body(1, count: 12_000))
    }

    // MARK: Refresh, resume, keep-alive

    /// Shows P64.
    @Test(arguments: pacings)
    func `a refresh is obeyed even if the source is silent`(pacing: SampleUploader.Pacing) async throws {
        let receiver = try RawReceiver(.init(pacing: pacing))
        let visit = try await receiver.accept()
        try await visit.ask(.helloForImages)
        _ = try await visit.framesBeforePong(1)
        receiver.uploader.offer(1)
        #expect(try await visit.frame()?.body == body(1, count: 12_000))
        for round in 0..<3 {
            try await receiver.uploader.settle()
            try await visit.ask(.refresh)
            #expect(try await visit.frame()?.body == body(1, count: 12_000), "refresh \(round)")
        }
    }

    /// Shows P43.
    @Test(arguments: [false, true])
    func `a resume brings the latest frame, even one that was submitted during the pause`(isOfferedPaused: Bool)
        async throws
    {
        let receiver = try RawReceiver()
        let visit = try await receiver.accept()
        try await visit.ask(.helloForImages)
        _ = try await visit.framesBeforePong(1)
        receiver.uploader.offer(1)
        #expect(try await visit.frame()?.body == body(1, count: 12_000))
        try await visit.ask(.pause)
        #expect(try await visit.framesBeforePong(2).isEmpty)
        if isOfferedPaused { receiver.uploader.offer(2) }
        #expect(try await visit.framesBeforePong(3).isEmpty, "nothing is sent in a pause")
        try await visit.ask(.resume)
        #expect(try await visit.frame()?.body == body(isOfferedPaused ? 2 : 1, count: 12_000))
    }

    /// Shows P69.
    @Test func `a silent source is kept alive if unchanged frames are skipped`() async throws {
        let pacing = SampleUploader.Pacing.everyFrame.skippingUnchanged(keepAlive: .milliseconds(30))
        let receiver = try RawReceiver(.init(pacing: pacing))
        let visit = try await receiver.accept()
        #expect(await becomesTrue { receiver.uploader.hasReceiver })
        receiver.uploader.offer(1)
        for round in 0..<4 { #expect(try await visit.frame()?.body == body(1, count: 12_000), "frame \(round)") }
    }

    // MARK: What a repeat says

    /// Shows P65.
    @Test(arguments: [false, true])
    func `a frame that is sent again is identical in every byte`(isImage: Bool) async throws {
        let receiver = try RawReceiver()
        let visit = try await receiver.accept()
        try await visit.ask(.helloForImages)
        _ = try await visit.framesBeforePong(1)
        if isImage {
            receiver.uploader.send(try testImage(64, 48), orientation: .left, timestamp: 4711)
        } else {
            receiver.uploader.offer(1, orientation: .left, timestamp: 4711)
        }
        let first = try #require(try await visit.frame())
        #expect(first.timestamp == 4711 && first.sequence == 0 && first.field("Buffer-Orientation") == "8")
        for request in [ControlRequest.refresh, .refresh] {
            try await receiver.uploader.settle()
            try await visit.ask(request)
            let again = try #require(try await visit.frame())
            #expect(again.header == first.header && again.body == first.body)
        }
        visit.socket.close()
        let next = try await receiver.accept()
        let again = try #require(try await next.frame())
        #expect(again.header == first.header && again.body == first.body)
        // A new frame has the next number: nothing is missing.
        receiver.uploader.offer(2)
        #expect(try await next.frame()?.sequence == 1)
    }

    /// Shows P110.
    @Test func `a frame that was lost with its connection is sent to the next receiver`() async throws {
        let receiver = try RawReceiver()
        let visit = try await receiver.accept()
        #expect(await becomesTrue { receiver.uploader.hasReceiver })
        // More than a socket holds, so that the connection ends within it.
        receiver.uploader.offer(1, count: 30_000_000)
        _ = try await visit.socket.read(1000)
        visit.socket.close()
        let next = try await receiver.accept()
        let frame = try await next.frame()
        #expect(frame?.body.count == 30_000_000)
    }
}
