import FrameTransport
import Locking
import TestSupport
import Testing
import TurboJPEG

@testable import FrameSocket

/// Frames in shared memory, between an uploader and a server of this process.
@Suite struct SharedFrameTests {
    private let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    /// Shows P262.
    @Test(arguments: PixelFormat.allCases)
    func `an image of any format arrives in the sender's memory, unchanged`(format: PixelFormat) async throws {
        var pair = try await SharedPair(directory)
        let image = try testImage(61, 47, as: format)
        #expect(pair.uploader.send(image, orientation: .right, timestamp: 77) == .taken)
        let frame = try await pair.next()
        let shared = try #require(frame.shared)
        #expect(frame.jpeg == nil && frame.bufferSize == BufferSize(width: 61, height: 47))
        #expect(frame.orientation == .right && frame.timestamp == 77 && frame.sequence == 0)
        #expect(shared.format.rawValue == format.rawValue && shared.changedRows == 0..<47)
        let decoded = try FrameDecoder().decode(frame, as: format).image
        #expect(decoded.hasSamePixels(as: image))
        let address = shared.withPlane(0) { bytes, _ in
            unsafe bytes.withUnsafeBufferPointer { UInt(bitPattern: $0.baseAddress) }
        }
        #expect(decoded.address == address, "the image is a copy")
    }

    @Test(arguments: [PixelFormat.i420, .nv12])
    func `the gray image of a frame is its luma, whatever its chroma is`(format: PixelFormat) async throws {
        var pair = try await SharedPair(directory)
        var random = SplitMix(seed: 27)
        // Most of these samples are no color: their red, green or blue would lie outside of 0 to 255.
        let image = try PixelBuffer(width: 61, height: 47, format: format) { plane, _, _ in
            guard plane > 0 else { return UInt8.random(in: 0...255, using: &random) }
            return Bool.random(using: &random) ? 255 : 0
        }
        #expect(pair.uploader.send(image) == .taken)
        let frame = try await pair.next()
        #expect(frame.shared != nil)
        let gray = try FrameDecoder().decode(frame, as: .gray).image
        #expect(gray.width == 61 && gray.height == 47 && gray.format == .gray)
        for row in 0..<47 { #expect(gray.row(row) == image.row(row), "row \(row)") }
    }

    /// Shows P275.
    @Test(arguments: ChromaSubsampling.allCases)
    func `a copied image has the pixels of one that was not copied, whatever the subsampling of JPEGs`(
        subsampling: ChromaSubsampling
    ) async throws {
        var configuration = SampleUploader.Configuration(scale: .half, sharesMemory: true)
        configuration.subsampling = subsampling
        var pair = try await SharedPair(directory, configuration)
        try await pair.sharing()
        // Neighbors of different colors, which subsampling would mix.
        let image = try PixelBuffer(width: 64, height: 32, format: .bgra) { _, x, y in
            UInt8(truncatingIfNeeded: x / 8 * 85 &+ y)
        }
        pair.uploader.send(image)
        let submitted = try FrameDecoder().decode(try await pair.next()).image
        try await pair.uploader.finish()
        pair.uploader.send(copying: image)
        let copied = try await pair.next()
        #expect(copied.shared?.format.rawValue == PixelFormat.bgra.rawValue)
        #expect(try FrameDecoder().decode(copied).image.hasSamePixels(as: submitted))
    }

    @Test(arguments: [PixelFormat.i420, .nv12])
    func `the changed rows of an image that is converted include those that share its chroma`(format: PixelFormat)
        async throws
    {
        var pair = try await SharedPair(directory)
        var image = try testImage(8, 9, as: .bgra)
        let decoder = FrameDecoder()
        #expect(pair.uploader.send(image) == .taken)
        _ = try decoder.decode(try await pair.next(), as: format)
        for (row, rows) in [(1, 0..<2), (2, 2..<4), (8, 8..<9)] {
            try await pair.uploader.finish()
            try image.withMutableRow(row) { bytes in for index in bytes.indices { bytes[index] ^= 0x55 } }
            #expect(pair.uploader.send(image) == .taken)
            #expect(try decoder.decode(try await pair.next(), as: format).changedRows == [rows])
        }
    }

    /// JPEGs of strips, which always show the same, and frames in shared memory, all but the first of which state that they
    /// equal the one before.
    ///
    /// Shows P117.
    @Test func `the changed rows of a frame are those since the last decoded one, which is of the same kind`()
        async throws
    {
        var pair = try await SharedPair(directory)
        try await pair.sharing()
        let connection = pair.uploader.connection
        let info = FrameInfo(bufferSize: BufferSize(width: 64, height: 64))
        let jpeg = FrameBytes(try StripEncoder().encode(try testImage(64, 64, as: .bgra), with: JPEGEncoder()).jpeg)
        let decoder = FrameDecoder()
        let steps = [(true, true), (true, false), (false, true), (false, false), (true, true), (false, true)]
        for (step, (isJPEG, isChanged)) in (steps + [(true, true), (true, false)]).enumerated() {
            if isJPEG {
                try await connection.send(FrameMessage(jpeg: jpeg, info: info))
            } else {
                let header = SharedFrameHeader(
                    buffer: step % 4,
                    format: .gray,
                    info: info,
                    planes: [.init(offset: 0, bytesPerRow: 64)],
                    changedRows: step == 2 ? nil : 0..<0
                )
                let message = FrameMessage(header, in: try SharedMemory(byteCount: 4_096), isNew: true)
                try connection.submit(message, for: nil) { _ in }
            }
            let frame = try await pair.next()
            try #require((frame.shared == nil) == isJPEG)
            let rows = try decoder.decode(frame, as: .bgra).changedRows
            #expect(rows == (isChanged ? [0..<64] : []), "step \(step)")
        }
    }

    /// Shows P99.
    @Test func `frames with planes that overlap arrive, cannot be decoded, and count as undecodable`() async throws {
        var pair = try await SharedPair(directory)
        try await pair.sharing()
        let size = BufferSize(width: 16, height: 16)
        let decoder = FrameDecoder()
        for buffer in 0..<FrameServer.Limits().maximumUndecodableFrames {
            let header = SharedFrameHeader(
                buffer: buffer,
                format: .i420,
                info: FrameInfo(bufferSize: size),  // The second plane begins in the last row of the first.
                planes: [(0, 16), (255, 8), (400, 8)].map { .init(offset: $0, bytesPerRow: $1) }
            )
            let message = FrameMessage(header, in: try SharedMemory(byteCount: 512), isNew: true)
            try pair.uploader.connection.submit(message, for: nil) { _ in }
            let frame = try await pair.next()
            #expect(frame.bufferSize == size)
            #expect(throws: TurboJPEGError.self) { try decoder.decode(frame) }
            let error = #expect(throws: TurboJPEGError.self) { try decoder.decode(frame, as: .i420) }
            #expect(error?.code == .overlappingPlanes)
        }
        #expect(try await pair.received.closed().error?.code == .undecodableFrames)
    }

    /// Shows P303.
    @Test func `a receiver that does not ask for shared memory gets JPEGs`() async throws {
        var pair = try await SharedPair(directory, accepts: false)
        pair.uploader.send(try testImage(64, 64, as: .bgra))
        let frame = try await pair.next()
        #expect(frame.bytes.count > 0)
    }

    /// Shows P275.
    @Test func `scale and orientation apply, and preferences of the receiver`() async throws {
        var pair = try await SharedPair(directory, .init(appliesOrientation: true, sharesMemory: true))
        let image = try testImage(64, 32, as: .bgra)
        pair.uploader.send(image, orientation: .right)
        let turned = try await pair.next()
        #expect(turned.bufferSize == BufferSize(width: 32, height: 64) && turned.orientation == .up)
        #expect(turned.shared != nil)
        pair.received.send(.prefer(ControlRequest.Preferences(size: BufferSize(width: 16, height: 16))))
        #expect(try await pair.next().bufferSize == BufferSize(width: 8, height: 16), "it applies to the latest image")
        pair.uploader.send(image)
        let small = try await pair.next()
        #expect(small.shared != nil && small.bufferSize == BufferSize(width: 16, height: 8))
    }

    /// Shows P275.
    @Test(arguments: [PixelFormat.bgra, .rgb, .i420], ["declines", "keeps it"])
    func `a frame that was scaled and turned is the same again if the receiver`(
        format: PixelFormat,
        what: String
    ) async throws {
        var pair = try await SharedPair(
            directory,
            .init(scale: .half, appliesOrientation: true, sharesMemory: true)
        )
        #expect(pair.uploader.send(try testImage(640, 480, as: format), orientation: .right) == .taken)
        let first = try await pair.next()
        #expect(first.shared != nil && first.bufferSize == BufferSize(width: 240, height: 320))
        pair.received.send(what == "declines" ? .decline : .refresh)
        let again = try await pair.next()
        #expect(again.sequence == first.sequence && (again.shared != nil) == (what == "keeps it"))
        #expect(again.bufferSize == first.bufferSize && again.orientation == .up)
        let image = try FrameDecoder().decode(first).image
        #expect(try FrameDecoder().decode(again).image.peakSignalToNoiseRatio(against: image) > 20)
        #expect(pair.uploader.statistics.drops.isEmpty)
    }
}
