import Foundation
import Locking
import TestDescriptions
import TestSupport
import Testing

@testable import FrameSocket
@testable import FrameTransport

/// Frames in strips: encoded and decoded where they changed, connection by connection.
@Suite(.tags(.computes), .timeLimit(.minutes(15))) struct StripFrameTests {
    private static let up = FrameOrientation.up

    private func connection() -> DecodingTally { DecodingTally(limit: 100) {} }

    private func whole(_ jpeg: FrameBytes, as format: PixelFormat) throws -> PixelBuffer {
        try JPEGDecoder().decode(bytes: jpeg.array(), as: format)
    }

    /// Shows P117.
    @Test func `exactly the changed rows are reported as changed`() throws {
        let encoder = FrameEncoder()
        let decoder = FrameDecoder()
        let connection = connection()
        var image = try testImage(200, 640, as: .bgra)
        let size = BufferSize(width: 200, height: 640)
        var rows: [[Range<Int>]] = []
        for step in 0..<12 {
            if step % 3 != 2 { try image.withMutableRow(330) { $0[8] ^= 0xFF } }
            let sent = try encoder.encode(.pixels(image), Self.up, .init())
            let decoded = try decoder.decode(Frame(sent.jpeg, size, of: connection))
            let expected = try whole(sent.jpeg, as: .bgra)
            #expect(decoded.image.hasSamePixels(as: expected), "step \(step)")
            rows.append(decoded.changedRows)
        }
        #expect(rows.first == [0..<640])
        #expect(rows.last == [])
        #expect(rows[9] == [319..<337] && rows[10] == [319..<337])
    }

    /// Each has its own image to go on from in each format, or more of them than are kept among them.
    ///
    /// Shows P115.
    @Test(arguments: [[PixelFormat.bgra], [.bgra, .i420]]) func `connections do not share images`(
        formats: [PixelFormat]
    ) throws {
        let decoder = FrameDecoder()
        let connections = (0..<3).map { _ in connection() }
        let encoders = (0..<3).map { _ in FrameEncoder() }
        var images = try (0..<3).map { try testImage(200, 320 + 32 * ($0 % 2), as: .bgra) }
        for step in 0..<12 {
            for number in 0..<3 {
                try images[number].withMutableRow(20 * step + number) { $0[8 * number] ^= 0xFF }
                let image = images[number]
                let sent = try encoders[number].encode(.pixels(image), Self.up, .init())
                let frame = Frame(sent.jpeg, sent.bufferSize, of: connections[number])
                for format in formats {
                    let decoded = try decoder.decode(frame, as: format).image
                    let expected = try whole(sent.jpeg, as: format)
                    #expect(decoded.hasSamePixels(as: expected), "step \(step), connection \(number)")
                }
            }
        }
    }

    @Test(arguments: [JPEGDecoder.ScalingFactor.full, .half])
    func `what was kept for a connection is released by the next one's frame of any scale`(
        scale: JPEGDecoder.ScalingFactor
    ) throws {
        let decoder = FrameDecoder()
        let sent = try FrameEncoder().encode(.pixels(try testImage(64, 64, as: .bgra)), Self.up, .init())
        do {
            let first = connection()
            _ = try decoder.decode(Frame(sent.jpeg, sent.bufferSize, of: first))
            #expect(decoder.strips.withLock { $0.count } == 1)
            withExtendedLifetime(first) {}
        }
        let next = connection()
        _ = try decoder.decode(Frame(sent.jpeg, sent.bufferSize, of: next), scale: scale)
        #expect(decoder.strips.withLock { $0.count } == (scale == .full ? 1 : 0))
    }

    @Test func `the next image is not compared with one that did not reach its consumer`() {
        var decoders = DecoderCache()
        let connection = connection()
        let frame = Frame(FrameBytes([]), BufferSize(width: 1, height: 1), of: connection)
        func note() -> Bool { decoders.noteDecoded(frame, as: .bgra, in: nil, isFullSize: true) }
        _ = decoders.decoder(for: frame, as: .bgra) { StripDecoder() }
        #expect(!note() && note())
        // Its rotation has failed.
        decoders.noteLost(frame, as: .bgra)
        #expect(!note() && note())
    }

    #if os(Linux)
        @Test(.leftOut(of: .address, .thread, because: "the sanitizer uses memory of its own"))
        func `all rows change after an image whose rotation had too little address space`() async {
            await #expect(processExitsWith: .success) {
                let image = try testImage(4096, 4096, as: .bgra)
                let jpeg = FrameBytes(try StripEncoder().encode(image, with: .init()).jpeg)
                let connection = DecodingTally(limit: 100) {}
                let frame = Frame(jpeg, BufferSize(width: 4096, height: 4096), .left, of: connection)
                let decoder = FrameDecoder(isUpright: true)
                let kept = try [decoder.decode(frame), decoder.decode(frame)]
                #expect(kept.map(\.changedRows) == [[0..<4096], []])
                var before = rlimit()
                _ = unsafe getrlimit(__rlimit_resource_t(RLIMIT_AS.rawValue), &before)
                let pages = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8).split(separator: " ")[0]
                let used = try #require(UInt(pages)) * UInt(getpagesize())
                var limit = rlimit(rlim_cur: used + 32 << 20, rlim_max: before.rlim_max)
                _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_AS.rawValue), &limit)
                let error = #expect(throws: TurboJPEGError.self) { try decoder.decode(frame) }
                _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_AS.rawValue), &before)
                #expect(error?.code == .allocationFailed)
                #expect(try decoder.decode(frame).changedRows == [0..<4096])
                withExtendedLifetime((kept, connection)) {}
            }
        }
    #endif

    @Test func `a padded, a resized and a rotated image are handled`() throws {
        let jpeg = FrameBytes(try StripEncoder().encode(testImage(201, 321), with: .init()).jpeg)
        let connection = connection()
        let size = BufferSize(width: 200, height: 320)
        let expected = try whole(jpeg, as: .bgra).cropped(toWidth: 200, height: 320)
        let decoder = FrameDecoder()
        for changed in [[0..<320], []] {
            let decoded = try decoder.decode(Frame(jpeg, size, of: connection))
            #expect(decoded.image.hasSamePixels(as: expected) && decoded.changedRows == changed)
        }
        let larger = try decoder.decode(Frame(jpeg, BufferSize(width: 202, height: 322), of: connection))
        #expect((larger.image.width, larger.image.height) == (202, 322) && larger.changedRows == [0..<322])
        let half = try decoder.decode(Frame(jpeg, size, of: connection), scale: .half)
        #expect((half.image.width, half.image.height) == (100, 160) && half.changedRows == [0..<160])

        let upright = FrameDecoder(isUpright: true)
        let turned = try expected.upright(from: .left)
        for changed in [[0..<200], []] {
            let decoded = try upright.decode(Frame(jpeg, size, .left, of: connection))
            #expect(decoded.image.hasSamePixels(as: turned) && decoded.changedRows == changed)
        }
    }

    @Test(arguments: [false, true])
    func `all rows change with the orientation or size of a frame`(isUpright: Bool) throws {
        let jpeg = FrameBytes(try StripEncoder().encode(testImage(200, 320), with: .init()).jpeg)
        let decoder = FrameDecoder(isUpright: isUpright)
        let connection = connection()
        let first = Frame(jpeg, BufferSize(width: 200, height: 320), of: connection)
        for (width, height) in [(200, 320), (199, 319), (200, 319)] {
            for orientation in [FrameOrientation.up, .right, .down, .left, .upMirrored] {
                let size = BufferSize(width: width, height: height)
                let frame = Frame(jpeg, size, orientation, of: connection)
                let decoded = try decoder.decode(frame)
                #expect(decoded.changedRows == [0..<decoded.image.height], "\(width)x\(height) \(orientation)")
                #expect(try decoder.decode(frame).changedRows == [])
            }
        }
        // What was decoded in another size is not what the next image is compared with.
        _ = try decoder.decode(first)
        _ = try decoder.decode(first, scale: .half)
        #expect(try decoder.decode(first).changedRows == [0..<320])
    }

    @Test func `readers that share a decoder each get the changes since their own last image`() async throws {
        let decoder = FrameDecoder()
        let fanOut = FrameConnection.Broadcaster()
        let connection = connection()
        let encoder = FrameEncoder()
        var image = try testImage(200, 640, as: .bgra)
        var readers = [fanOut.reader(), fanOut.reader()].map { $0.makeAsyncIterator() }
        for step in 0..<4 {
            try image.withMutableRow(100 * step + 8) { $0[8] ^= 0xFF }
            let sent = try encoder.encode(.pixels(image), Self.up, .init())
            fanOut.publish(Frame(sent.jpeg, sent.bufferSize, of: connection))
            var rows: [[Range<Int>]] = []
            for index in readers.indices {
                // The second reader comes for every other frame.
                guard index == 0 || step % 2 == 1 else { continue }
                let frame = try #require(try await readers[index].next())
                rows.append(try decoder.decode(frame).changedRows)
            }
            switch step {
            case 0: #expect(rows == [[0..<640]])
            case 1: #expect(rows == [[95..<113], [0..<640]])
            case 2: #expect(rows == [[207..<225]])
            default: #expect(rows == [[303..<321], [207..<225, 303..<321]])
            }
        }
    }

    @Test(arguments: [true, false])
    func `strips are omitted if they are turned off`(usesStrips: Bool) throws {
        let image = try testImage(200, 320, as: .bgra)
        let whole: [UInt8] = try JPEGEncoder().encode(image)
        let sent = try FrameEncoder().encode(.pixels(image), .up, .init(usesStrips: usesStrips))
        #expect((sent.jpeg.array() == whole) == !usesStrips)
    }
}
