import FrameSocketTesting
import FrameTransport
import TestSupport
import Testing

@testable import FrameSocket
@testable import TurboJPEG

/// Which frames of an uploader have the watermark: each exactly once.
@Suite(.timeLimit(.minutes(5))) struct WatermarkFrameTests {
    /// Half transparent white over the left upper quarter: on black it is 128, and 192 where it is drawn twice.
    private static func watermark() throws -> SampleUploader.Watermark {
        let image = try PixelBuffer(width: 8, height: 6, format: .bgra) { _, x, _ in x % 4 == 3 ? 128 : 255 }
        return try SampleUploader.Watermark(image, x: 0, y: 0, scale: 0.5)
    }

    private static func configuration(
        sharesMemory: Bool = false
    ) throws -> SampleUploader.Configuration {
        SampleUploader.Configuration(watermark: try watermark(), sharesMemory: sharesMemory)
    }

    private static func black(_ width: Int, _ height: Int) throws -> PixelBuffer {
        try PixelBuffer(width: width, height: height, format: .bgra, zeroFilled: true)
    }

    /// Whether the middles of the upper quarters have these values, and those of the lower ones are black.
    private func expectMark(
        _ left: Int,
        right: Int = 0,
        _ message: FrameMessage?,
        _ location: SourceLocation = #_sourceLocation
    ) throws {
        let image = try JPEGDecoder().decode(bytes: try #require(message).jpeg.array(), as: .bgra)
        let values = [image.height / 4, image.height * 3 / 4].flatMap { y in
            [image.width / 4, image.width * 3 / 4].map { x in Int(image.row(y)[4 * x]) }
        }
        let isMarked = zip(values, [left, right, 0, 0]).allSatisfy { abs($0 - $1) <= 4 }
        #expect(isMarked, "\(values)", sourceLocation: location)
    }

    /// Shows P324.
    @Test(arguments: Submission.allCases)
    func `the latest frame has the watermark for whoever gets it again, in any size`(submission: Submission) throws {
        let configuration = try Self.configuration()
        var rig = ImageRig(configuration)
        try rig.send(try submission.content(of: try Self.black(128, 96), configuration))
        rig.change { $0.refreshes += 1 }
        rig.change { $0.preferences = .init(size: BufferSize(width: 64, height: 48)) }
        rig.change { ($0.connection, $0.preferences) = (2, .init()) }
        let isUnchanged = submission == .jpeg
        #expect(rig.messages.map(\.bufferSize.width) == (isUnchanged ? [128, 128, 128] : [128, 128, 64, 128]))
        for message in rig.messages { try expectMark(isUnchanged ? 0 : 128, message) }
    }

    /// Shows P324.
    @Test func `an update adds, moves and removes the watermark from the next frame on, which is not unchanged then`()
        throws
    {
        var configuration = SampleUploader.Configuration(pacing: .everyFrame.skippingUnchanged(keepAlive: nil))
        var rig = ImageRig(configuration)
        let image = FrameContent.pixels(try Self.black(128, 96))
        let mark = try Self.watermark()
        var moved = mark
        moved.x = 0.5
        typealias Step = (SampleUploader.Watermark?, Int, Int)
        let steps: [Step] = [(nil, 0, 0), (mark, 128, 0), (moved, 0, 128), (nil, 0, 0)]
        for (watermark, left, right) in steps {
            configuration.watermark = watermark
            rig.update(configuration)
            try rig.send(image)
            try expectMark(left, right: right, rig.messages.last)
            rig.offer(image)
        }
        #expect(rig.machine.statistics.drops == [.unchanged: 4])
    }

    // MARK: Shared memory

    /// Shows P117, P324.
    @Test(.enabled(if: SharedMemory.isSupported), arguments: [PixelFormat.bgra, .rgb, .gray, .i420, .nv12])
    func `an image that is copied to shared memory has the watermark, and only changed rows are copied and stated`(
        format: PixelFormat
    ) async throws {
        var pair = try await SharedPair(try TemporaryDirectory(), try Self.configuration(sharesMemory: true))
        try await pair.sharing()
        var image = try Self.black(64, 48).converted(as: format)
        // Rows that are under the watermark, beside it, and under it.
        let rows = [nil, nil, 2, 40, nil, 3, 47]
        var expected = Set<Int>()
        for (index, row) in rows.enumerated() {
            if let row { try image.withMutableRow(row) { $0[$0.count - 1] ^= 0xFF } }
            expected = row.map { [$0] } ?? []
            pair.uploader.send(image)
            let frame = try await pair.next()
            let shared = try #require(frame.shared)
            if index > 0 {
                #expect(shared.changedRows == (expected.first.map { $0..<$0 + 1 } ?? 0..<0), "frame \(index)")
            }
            var drawn = image
            let size = BufferSize(width: 64, height: 48)
            let placement = try #require(WatermarkPlacement(try Self.watermark(), on: size, .up))
            try DrawnWatermark(placement, format).draw(on: &drawn)
            #expect(try FrameDecoder().decode(frame, as: format).image.hasSamePixels(as: drawn), "frame \(index)")
            try await pair.uploader.finish()
        }
        #expect(pair.uploader.statistics.shared == rows.count)
    }

    /// Shows P324.
    @Test(.enabled(if: SharedMemory.isSupported))
    func `an image that was sent in shared memory has the watermark once in its JPEG`() throws {
        var rig = ImageRig(try Self.configuration(sharesMemory: true), ImageRig.sharing)
        #expect(try rig.send(.pixels(try Self.black(64, 48)))?.place != nil)
        rig.change { $0.acceptsSharedMemory = false }
        #expect(rig.messages.count == 2)
        try expectMark(128, rig.messages.last)
    }
}
