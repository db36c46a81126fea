import FrameSocketTesting
import FrameTransport
import FrameWire
import TestDescriptions
import TestSupport
import Testing
import TurboJPEG

@testable import FrameSocket

/// Which frames count as equal.
@Suite(.timeLimit(.minutes(5))) struct FrameDigesterTests {
    private let digester = FrameDigester()

    /// Shows P72.
    @Test func `equal bytes that are sent differently have different hashes`() throws {
        let image = try testImage(64, 48, as: .gray)
        let jpeg = FrameBytes([1, 2, 3])
        let size = BufferSize(width: 64, height: 48)
        let contents: [FrameContent] = [
            .pixels(image), .scaled(image, by: OutputPlan(size)), .jpeg(jpeg, size), .resizableJPEG(jpeg, size),
            .jpeg(jpeg, BufferSize(width: 48, height: 64)), .jpeg(jpeg, BufferSize(width: 64, height: 49)),
            .jpeg(jpeg, BufferSize(width: -64, height: .min)),
        ]
        let digests = contents.map { digester.digest($0, orientation: .up) }
        #expect(Set(digests).count == contents.count)
    }

    @Test func `a JPEG that is sent as it is, or in another stated size, is no unchanged frame`() async throws {
        let pacing = SampleUploader.Pacing.everyFrame.skippingUnchanged(keepAlive: nil)
        let receiver = try RawReceiver(.init(scale: .half, pacing: pacing))
        let visit = try await receiver.accept()
        #expect(await becomesTrue { receiver.uploader.hasReceiver })
        let uploader = receiver.uploader
        let jpeg = FrameBytes(try Fixtures.bytes("jpeg/chelsea-420.jpg"))
        uploader.send(resizing: jpeg)
        let resized = try #require(try await visit.frame()?.width)
        #expect(resized < 451)
        uploader.send(jpeg: jpeg, bufferSize: BufferSize(width: 451, height: 301))
        #expect(try await visit.frame()?.height == 301)
        uploader.send(jpeg: jpeg, bufferSize: BufferSize(width: 451, height: 300))
        #expect(try await visit.frame()?.height == 300)
        try await uploader.settle()
        #expect(uploader.statistics.drops.isEmpty)
        uploader.send(jpeg: jpeg, bufferSize: BufferSize(width: 451, height: 300))
        try await uploader.settle()
        #expect(uploader.statistics.drops == [.unchanged: 1])
    }
}
