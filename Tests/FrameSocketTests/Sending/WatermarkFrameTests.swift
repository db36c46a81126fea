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

    /// Whether the middle of the left upper quarter has this value, and the middle of the others is black.
    private func expectMark(
        _ value: Int,
        _ image: PixelBuffer,
        _ location: SourceLocation = #_sourceLocation
    ) {
        let (left, right) = (image.width / 4, image.width * 3 / 4)
        let (upper, lower) = (image.row(image.height / 4), image.row(image.height * 3 / 4))
        func isNear(_ found: UInt8, _ expected: Int) -> Bool { abs(Int(found) - expected) <= 4 }
        #expect(isNear(upper[4 * left], value), "\(upper[4 * left])", sourceLocation: location)
        #expect(isNear(upper[4 * right], 0) && isNear(lower[4 * left], 0), sourceLocation: location)
        #expect(isNear(lower[4 * right], 0), sourceLocation: location)
    }

    private func expectMark(
        _ value: Int,
        _ message: PeerMessage,
        _ location: SourceLocation = #_sourceLocation
    ) throws {
        let body = message.body
        expectMark(value, try JPEGDecoder().decode(body.span, as: .bgra), location)
    }

    /// How a frame is submitted.
    enum Submission: CaseIterable {
        case lent, copied, resized, jpeg

        func submit(_ image: PixelBuffer, to uploader: SampleUploader) throws {
            switch self {
            case .lent: uploader.send(image)
            case .copied: uploader.send(copying: image)
            case .resized: uploader.send(resizing: FrameBytes(try JPEGEncoder().encode(image)))
            case .jpeg:
                let size = BufferSize(width: image.width, height: image.height)
                uploader.send(jpeg: FrameBytes(try JPEGEncoder().encode(image)), bufferSize: size)
            }
        }
    }

    /// Shows P324.
    @Test(arguments: Submission.allCases)
    func `the latest frame has the watermark for whoever gets it again, in any size`(submission: Submission)
        async throws
    {
        let value = submission == .jpeg ? 0 : 128
        let receiver = try RawReceiver(try Self.configuration())
        let first = try await receiver.accept()
        try await first.ask(.helloForImages)
        _ = try await first.framesBeforePong(1)
        try submission.submit(try Self.black(128, 96), to: receiver.uploader)
        try expectMark(value, try #require(try await first.frame()))
        try await receiver.uploader.settle()
        try await first.ask(.refresh)
        try expectMark(value, try #require(try await first.frame()))
        if submission != .jpeg {
            try await receiver.uploader.settle()
            try await first.ask(.prefer(.init(size: BufferSize(width: 64, height: 48))))
            let small = try #require(try await first.frame())
            #expect(small.width == 64)
            try expectMark(value, small)
        }
        try await receiver.uploader.settle()
        first.socket.close()
        let second = try await receiver.accept()
        let whole = try #require(try await second.frame())
        #expect(whole.width == 128)
        try expectMark(value, whole)
    }

    /// Shows P324.
    @Test func `an update adds, moves and removes the watermark from the next frame on`() async throws {
        let receiver = try RawReceiver()
        let visit = try await receiver.accept()
        #expect(await becomesTrue { receiver.uploader.hasReceiver })
        let image = try Self.black(128, 96)
        receiver.uploader.send(image)
        try expectMark(0, try #require(try await visit.frame()))
        try await receiver.uploader.settle()
        receiver.uploader.update { $0.watermark = try? Self.watermark() }
        #expect(receiver.uploader.configuration.watermark == (try Self.watermark()))
        receiver.uploader.send(image)
        try expectMark(128, try #require(try await visit.frame()))
        try await receiver.uploader.settle()
        receiver.uploader.update { $0.watermark?.x = 0.5 }
        receiver.uploader.send(image)
        let body = try #require(try await visit.frame()).body
        let moved = try JPEGDecoder().decode(body.span, as: .bgra)
        #expect(moved.row(24)[4 * 32] <= 4 && abs(Int(moved.row(24)[4 * 96]) - 128) <= 4)
        try await receiver.uploader.settle()
        receiver.uploader.update { $0.watermark = nil }
        receiver.uploader.send(image)
        try expectMark(0, try #require(try await visit.frame()))
    }

    /// Shows P324.
    @Test func `a frame that equals the last one except for its watermark is not unchanged`() async throws {
        let receiver = try RawReceiver(.init(pacing: .everyFrame.skippingUnchanged()))
        let visit = try await receiver.accept()
        #expect(await becomesTrue { receiver.uploader.hasReceiver })
        let image = try Self.black(128, 96)
        receiver.uploader.send(image)
        try expectMark(0, try #require(try await visit.frame()))
        try await receiver.uploader.settle()
        receiver.uploader.send(image)
        try await receiver.uploader.settle()
        #expect(receiver.uploader.statistics.drops == [.unchanged: 1])
        receiver.uploader.update { $0.watermark = try? Self.watermark() }
        #expect(receiver.uploader.send(image) == .taken)
        try expectMark(128, try #require(try await visit.frame()))
        try await receiver.uploader.settle()
        receiver.uploader.send(image)
        try await receiver.uploader.settle()
        #expect(receiver.uploader.statistics.drops == [.unchanged: 2])
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
    func `an image that was sent in shared memory has the watermark once in its JPEG`() async throws {
        let directory = try TemporaryDirectory()
        var pair = try await SharedPair(directory, try Self.configuration(sharesMemory: true))
        try await pair.sharing()
        pair.uploader.send(try Self.black(64, 48))
        let frame = try await pair.next()
        #expect(frame.shared != nil)
        expectMark(128, try FrameDecoder().decode(frame, as: .bgra).image)
        try await pair.uploader.settle()
        pair.server.close()
        let next = try directory.server { $0.acceptsSharedMemory = false }
        let connection = try #require(try await firstConnection(of: next))
        var frames = connection.frames.makeAsyncIterator()
        let jpeg = try #require(try await frames.next())
        #expect(jpeg.shared == nil)
        expectMark(128, try FrameDecoder().decode(jpeg, as: .bgra).image)
    }
}
