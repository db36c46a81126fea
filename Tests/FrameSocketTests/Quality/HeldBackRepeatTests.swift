import Testing

@testable import FrameSocket

/// A frame that is sent again, with a deferred one behind it: each waits for room of its own.
@Suite struct HeldBackRepeatTests {
    /// Shows P340.
    ///
    /// A JPEG of 30,000 bytes is sent where two seconds have room for 41,800. When it could be sent again, but for the
    /// room, one of 100 bytes fails, and another one is deferred.
    @Test func `a large frame that is sent again waits for room, and the small one behind it does not`() {
        var configuration = SampleUploader.Configuration()
        configuration.adaptation = .init(maximumByteRate: 20_000)
        configuration.pacing = .framesPerSecond(15).skippingUnchanged(keepAlive: .seconds(1))
        var rig = UploaderRig(configuration)
        rig.run([.connect, .offer(1, bytes: 30_000), .wait(1_900), .encoding(false)])
        rig.run((2...6).map { .offer($0) })
        rig.run([.encodingFails, .encoding(true), .wait(60)])
        #expect(rig.submitted == [1])
        rig.run(.wait(20))
        #expect(rig.submitted == [1, 6])
    }
}
