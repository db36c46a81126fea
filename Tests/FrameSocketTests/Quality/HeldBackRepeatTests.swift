import FrameTransport
import FrameWire
import TestSupport
import Testing

@testable import FrameSocket

/// A frame that is sent again, with a deferred one behind it: each waits for room of its own.
@Suite struct HeldBackRepeatTests {
    /// Shows P340.
    ///
    /// A JPEG of 30,000 bytes is sent where two seconds have room for 41,800.
    @Test func `a large frame that is to be sent again waits for room, and a small newer one does not`() {
        var configuration = SampleUploader.Configuration()
        configuration.adaptation = .init(maximumByteRate: 20_000)
        configuration.pacing = .framesPerSecond(15).skippingUnchanged(keepAlive: .seconds(1))
        var rig = UploaderRig(configuration)
        rig.run([.connect, .offer(1, bytes: 30_000), .wait(1_900)])
        #expect(rig.submitted == [1])
        rig.run(.offer(2))
        #expect(rig.submitted == [1, 2])
    }

    /// Shows P69.
    ///
    /// Two seconds have room for 8,360 bytes: for repeats of the first image, or for the second once the first is that old.
    @Test func `a sign of life does not take the room of a newer image that waits for it`() throws {
        var rig = ImageRig(
            .init(
                adaptation: .init(maximumByteRate: 4000, minimumQuality: 80),
                pacing: .everyFrame.skippingUnchanged(keepAlive: .milliseconds(1_100)),
                usesStrips: false
            )
        )
        for (height, byteCount) in [(48, 1000), (40, 7400)] {
            rig.offer(.pixels(try testImage(64, height, as: .gray)), settles: false)
            rig.end(try rig.begin()) { _ in ImageRig.jpeg(byteCount) }
            if byteCount == 1000 { rig.now += 1_000_000_000 }
        }
        rig.pass(milliseconds: 900)
        #expect(rig.messages.map(\.jpeg.count) == [1000])
        #expect(rig.jobs.count == 2)
    }

    /// A rig that has sent a JPEG of 1,000 bytes where two seconds have room for 8,360.
    private func rig(_ failure: SampleUploader.DropCause? = nil) throws -> ImageRig {
        var rig = ImageRig(.init(adaptation: .init(maximumByteRate: 4000), usesStrips: false))
        rig.sendingFails = failure
        rig.offer(.pixels(try testImage(64, 48, as: .gray)), settles: false)
        let job = try rig.begin()
        #expect(job.quality != nil)
        rig.end(job) { _ in ImageRig.jpeg(1000) }
        rig.sendingFails = nil
        #expect(rig.messages.map(\.jpeg.count) == [1000])
        rig.now += 1_000_000_000
        return rig
    }

    /// Shows P340.
    @Test func `an image that was given up while it was encoded waits for room as its JPEG`() throws {
        var rig = try rig()
        rig.offer(.pixels(try testImage(64, 48, as: .gray)), settles: false)
        let job = try rig.begin()
        rig.machine.giveUpImages()
        // More than was expected of it, and more than there is room for within two seconds of the first.
        rig.end(job) { _ in ImageRig.jpeg(7400) }
        rig.pass(milliseconds: 900)
        #expect(rig.messages.count == 1)
        rig.pass(milliseconds: 1_000)
        #expect(rig.messages.map(\.jpeg.count) == [1000, 7400] && rig.jobs.count == 2, "there is no image to encode")
    }

    /// Shows P76.
    ///
    /// Its first attempt has ended with its connection, but may have brought its number to a receiver.
    @Test func `the number of a frame that is held back is not given to the next one if it was sent under it`() throws {
        var rig = try rig(.connectionLost)
        // Another quality: its JPEG cannot be sent again as it is.
        rig.change(settles: false) { ($0.connection, $0.preferences) = (2, .init(quality: 50)) }
        let job = try rig.begin()
        rig.offer(.pixels(try testImage(64, 48, as: .gray)), settles: false)
        rig.end(job) { _ in ImageRig.jpeg(7400) }
        #expect(rig.messages.count == 1, "there is no room for it")
        rig.pass(milliseconds: 10_000)
        #expect(rig.messages.map(\.info.sequence).prefix(2) == [0, 1])
    }
}
