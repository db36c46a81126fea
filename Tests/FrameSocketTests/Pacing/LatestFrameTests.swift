import FrameSocket
import FrameSocketTesting
import TestSupport
import Testing

/// A receiver that wants frames has the latest one, over a socket; `UploaderMachineTests` has every way to that.
@Suite(.timeLimit(.minutes(5))) struct LatestFrameTests {
    /// Shows P61.
    @Test(arguments: [SampleUploader.Pacing.everyFrame, .framesPerSecond(1).skippingUnchanged(keepAlive: nil)])
    func `a receiver that connects after the only frame was submitted gets it at once, and once`(
        pacing: SampleUploader.Pacing
    ) async throws {
        let receiver = try RawReceiver(.init(pacing: pacing))
        receiver.uploader.offer(1)
        let visit = try await receiver.accept()
        try await visit.ask(.helloForImages)
        #expect(try await visit.frame()?.body == body(1, count: 12_000))
        try await receiver.uploader.settle()
        // Were there another one, it would be out by the second answer.
        for number in UInt64(1)...2 { #expect(try await visit.framesBeforePong(number).isEmpty, "it came twice") }
    }

    /// Shows P61, P64.
    @Test func `a hello that begins to want frames, a refresh and a resume bring the latest frame`() async throws {
        let receiver = try RawReceiver()
        let visit = try await receiver.accept()
        try await visit.ask(.hello(ControlRequest.Hello(wants: [])))
        _ = try await visit.framesBeforePong(1)
        #expect(receiver.uploader.offer(1) == .deferred(.notWanted))
        #expect(try await visit.framesBeforePong(2).isEmpty)
        try await visit.ask(.helloForImages)
        #expect(try await visit.frame()?.body == body(1, count: 12_000))
        try await receiver.uploader.settle()
        try await visit.ask(.refresh)
        #expect(try await visit.frame()?.body == body(1, count: 12_000))
        try await visit.ask(.pause)
        #expect(try await visit.framesBeforePong(3).isEmpty)
        #expect(receiver.uploader.offer(2) == .deferred(.paused))
        #expect(try await visit.framesBeforePong(4).isEmpty, "nothing is sent in a pause")
        try await visit.ask(.resume)
        #expect(try await visit.frame()?.body == body(2, count: 12_000))
    }

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
        try await receiver.uploader.settle()
        try await visit.ask(.refresh)
        let again = try #require(try await visit.frame())
        #expect(again.header == first.header && again.body == first.body)
        visit.socket.close()
        let next = try await receiver.accept()
        let other = try #require(try await next.frame())
        #expect(other.header == first.header && other.body == first.body)
        // A new frame has the next number: nothing is missing.
        receiver.uploader.offer(2)
        #expect(try await next.frame()?.sequence == 1)
    }
}
