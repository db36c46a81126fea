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
        var machine = UploaderMachine(configuration, owner: 1)
        var terms = ReceiverTerms()
        (terms.revision, terms.connection, terms.isConnected) = (1, 1, true)
        machine.termsChanged(terms, at: 1)
        let (image, size) = (try testImage(64, 48), BufferSize(width: 64, height: 48))
        let encoder = FrameEncoder()

        func offer(_ rows: Range<Int>) -> SampleUploader.Outcome {
            let rectangle = PixelBuffer.Rectangle(x: 0, y: rows.lowerBound, width: 64, height: rows.count)
            return machine.offer(.pixels(image), damage: ImageDamage([rectangle], of: size), at: 2)
        }
        func encode() throws -> EncodingJob? {
            guard let job = machine.beginUpload(at: 2) else { return nil }
            machine.encoded(.encoded(try encoder.encode(.pixels(image), .up, job.recipe), digest: nil), at: 2)
            machine.sent(nil, at: 2)
            return job
        }

        #expect(offer(0..<48) == .taken)
        #expect(try encode() != nil)
        #expect(offer(2..<4) == .taken)
        configuration.limits.maximumDimension = 50
        machine.update(configuration, at: 2)
        #expect(offer(10..<12) == .dropped(.outsideLimits))
        configuration.limits = .init()
        machine.update(configuration, at: 2)
        #expect(offer(0..<0) == .taken)
        #expect(offer(20..<22) == .taken)
        #expect(try encode()?.rows?.ranges == [2..<4, 10..<12, 20..<22])
        #expect(offer(30..<32) == .taken)
        machine.update(configuration, at: 2)
        let second = machine.beginUpload(at: 2)
        // While it is being encoded, another one is refused.
        configuration.limits.maximumDimension = 50
        machine.update(configuration, at: 2)
        #expect(offer(40..<42) == .dropped(.outsideLimits))
        configuration.limits = .init()
        machine.update(configuration, at: 2)
        #expect(second?.rows?.ranges == [30..<32])
        machine.encoded(.encoded(try encoder.encode(.pixels(image), .up, second?.recipe), digest: nil), at: 2)
        machine.sent(nil, at: 2)
        #expect(offer(0..<0) == .taken, "it does not show what the receiver has")
        #expect(try encode()?.rows?.ranges == [40..<42])
    }
}
