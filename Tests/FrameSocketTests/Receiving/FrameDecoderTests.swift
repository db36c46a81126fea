import Foundation
import Locking
import TestDescriptions
import TestSupport
import Testing

@testable import FrameSocket
@testable import FrameTransport

/// Frames to pixels: every format, the pixel between a head and its JPEG, errors, and memory.
@Suite(.tags(.computes), .timeLimit(.minutes(15))) struct FrameDecoderTests {
    private func frame(
        _ jpeg: [UInt8],
        _ width: Int,
        _ height: Int,
        orientation: FrameOrientation = .up
    ) -> Frame {
        Frame(FrameBytes(jpeg), BufferSize(width: width, height: height), orientation)
    }

    private func jpeg(_ width: Int, _ height: Int, _ subsampling: ChromaSubsampling = .yuv420) throws -> [UInt8] {
        try JPEGEncoder(quality: 90, subsampling: subsampling).encode(testImage(width, height))
    }

    @Test(arguments: PixelFormat.allCases)
    func `a header of 562x1218 on a JPEG of 563x1219 crops the last column and row`(
        format: PixelFormat
    ) throws {
        let jpeg = try Fixtures.bytes("jpeg/phone-563x1219.jpg")
        let image = try FrameDecoder().decode(frame(jpeg, 562, 1218), as: format).image
        #expect((image.width, image.height, image.format) == (562, 1218, format))
        let expected = try JPEGDecoder().decode(bytes: jpeg, as: format).cropped(toWidth: 562, height: 1218)
        #expect(image.hasSamePixels(as: expected))
    }

    @Test(arguments: PixelFormat.allCases, [(16, 16), (17, 33), (1, 1), (2, 7)])
    func `one pixel more or less is accepted in either direction`(format: PixelFormat, size: (Int, Int)) throws {
        let jpeg = try jpeg(size.0, size.1)
        let whole = try JPEGDecoder().decode(bytes: jpeg, as: format)
        let decoder = FrameDecoder()
        for width in max(1, size.0 - 1)...size.0 + 1 {
            for height in max(1, size.1 - 1)...size.1 + 1 {
                // Twice, so that the second one finds another image in the memory that it is given.
                for _ in 0..<2 {
                    let image = try decoder.decode(frame(jpeg, width, height), as: format).image
                    #expect((image.width, image.height) == (width, height))
                    let expected = ReferenceImage(whole).resized(width: width, height: height)
                    #expect(ReferenceImage(image).planes == expected.planes, "\(width)x\(height)")
                }
            }
        }
    }

    @Test(arguments: [
        (2, 0), (-2, 0), (0, 2), (0, -2), (1, 2), (100, 100), (16_000, 0), (.min, 0), (0, .max - 30), (.min, .min),
    ])
    func `a difference of two pixels is an error, and the next frame is decoded`(difference: (Int, Int)) throws {
        let decoder = FrameDecoder()
        let jpeg = try jpeg(40, 30)
        let error = #expect(throws: TurboJPEGError.self) {
            try decoder.decode(frame(jpeg, 40 + difference.0, 30 + difference.1))
        }
        #expect(error?.code == .sizeMismatch)
        #expect(try decoder.decode(frame(jpeg, 40, 30)).image.width == 40)
    }

    @Test(arguments: JPEGDecoder.ScalingFactor.allSupported, [(64, 48), (63, 47), (65, 49)])
    func `frames can be decoded at a fraction of their size`(scale: JPEGDecoder.ScalingFactor, size: (Int, Int)) throws
    {
        let jpeg = try jpeg(64, 48)
        let image = try FrameDecoder().decode(frame(jpeg, size.0, size.1), as: .rgb, scale: scale).image
        let wanted = scale.scaled(width: size.0, height: size.1)
        #expect((image.width, image.height) == wanted)
        let whole = try JPEGDecoder().decode(bytes: jpeg, as: .rgb, scale: scale)
        let expected = ReferenceImage(whole).resized(width: wanted.width, height: wanted.height)
        #expect(ReferenceImage(image).planes == expected.planes)
    }

    @Test(arguments: PixelFormat.allCases)
    func `a frame is decoded into the corner of the program's own image`(format: PixelFormat) throws {
        let decoder = FrameDecoder()
        let frame = try frame(jpeg(40, 30), 40, 30)
        var image = try PixelBuffer(width: 51, height: 33, format: format, zeroFilled: true)
        let memory = image.address
        let decoded = try decoder.decode(frame, into: &image)
        #expect(try decoded.image.hasSamePixels(as: image.cropped(toWidth: 40, height: 30)))
        #expect(image.row(0).suffix(11).allSatisfy { $0 == 0 } && image.row(32).allSatisfy { $0 == 0 })
        #expect(image.address == memory)
        let before = image
        let error = #expect(throws: TurboJPEGError.self) {
            try decoder.decode(frame, into: &image, in: FrameDecoder.Viewport(width: 52, height: 33))
        }
        #expect(error?.code == .bufferTooSmall && image.hasSamePixels(as: before))
    }

    @Test func `an invalid image is an error every time, and harms no later frame`() throws {
        let decoder = FrameDecoder()
        let good = try jpeg(40, 30)
        let expected = try decoder.decode(frame(good, 40, 30)).image
        var damaged = good
        for index in good.count / 2..<good.count / 2 + 40 { damaged[index] = 0xFF }
        let bad = [
            [], [0], [0xFF, 0xD8], [0xFF, 0xD8, 0xFF, 0xD9], Array(good.prefix(good.count / 2)), damaged,
            Array("P6\n1 1\n255\n123".utf8), [UInt8](repeating: 0, count: 10_240),
        ]
        for jpeg in bad {
            #expect(throws: TurboJPEGError.self) { try decoder.decode(frame(jpeg, 40, 30)) }
            #expect(try decoder.decode(frame(good, 40, 30)).image.hasSamePixels(as: expected))
        }
        #expect(decoder.decoding.count == 1 + bad.count)
    }

    @Test(arguments: [(64, 48), (63, 47), (65, 49)])
    func `a thousand frames are decoded into the memory of the first`(size: (Int, Int)) throws {
        let decoder = JPEGDecoder()
        let frameDecoder = FrameDecoder(isUpright: true, jpeg: decoder)
        let frame = frame(try jpeg(64, 48), size.0, size.1, orientation: .left)
        for _ in 0..<1000 { _ = try frameDecoder.decode(frame, as: .bgra) }
        // Decoded, extended by the missing row and column, upright.
        #expect(decoder.pool.allocatedCount <= 3)
    }

    @Test func `a thousand images are encoded in the memory of the first`() throws {
        let encoder = FrameEncoder()
        let image = try testImage(65, 49, as: .bgra)
        for _ in 0..<1000 { _ = try encoder.encode(.pixels(image), .up, .init(scale: .half)) }
        let workspace = try #require(encoder.workspace)
        #expect(workspace.scaled.allocatedCount == 1)
        #expect(workspace.bytes.allocations == 1)
    }
}
