import FrameTransport
import FrameWire
import TestDescriptions
import TestSupport
import Testing

@testable import FrameSocket

/// What an image has changed that was refused at once.
@Suite(.tags(.computes)) struct RefusedDamageTests {
    /// Shows P350.
    @Test func `the damage of an image that was refused before the one before it was encoded is not lost`() throws {
        var configuration = SampleUploader.Configuration(pacing: .everyFrame.skippingUnchanged(keepAlive: nil))
        var rig = ImageRig(configuration)
        let (image, size) = (try testImage(64, 48), BufferSize(width: 64, height: 48))

        func offer(_ rows: Range<Int>) -> SampleUploader.Outcome {
            let rectangle = PixelBuffer.Rectangle(x: 0, y: rows.lowerBound, width: 64, height: rows.count)
            return rig.offer(.pixels(image), damage: ImageDamage([rectangle], of: size), settles: false)
        }
        func encode() throws -> EncodingJob {
            let job = try rig.begin()
            rig.end(job) { _ in ImageRig.jpeg(100) }
            return job
        }

        #expect(offer(0..<48) == .taken)
        _ = try encode()
        #expect(offer(2..<4) == .taken)
        configuration.limits.maximumDimension = 50
        rig.machine.update(configuration, at: rig.now)
        #expect(offer(10..<12) == .dropped(.outsideLimits))
        configuration.limits = .init()
        rig.machine.update(configuration, at: rig.now)
        #expect(offer(0..<0) == .taken)
        #expect(offer(20..<22) == .taken)
        #expect(try encode().rows?.ranges == [2..<4, 10..<12, 20..<22])
        #expect(offer(30..<32) == .taken)
        let second = try rig.begin()
        // While it is being encoded, another one is refused.
        configuration.limits.maximumDimension = 50
        rig.machine.update(configuration, at: rig.now)
        #expect(offer(40..<42) == .dropped(.outsideLimits))
        configuration.limits = .init()
        rig.machine.update(configuration, at: rig.now)
        #expect(second.rows?.ranges == [30..<32])
        rig.end(second) { _ in ImageRig.jpeg(100) }
        #expect(offer(0..<0) == .taken, "it does not show what the receiver has")
        #expect(try encode().rows?.ranges == [40..<42])
    }
}
