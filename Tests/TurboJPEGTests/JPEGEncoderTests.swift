import TestDescriptions
import TestSupport
import Testing

@testable import TurboJPEG

@Suite(.tags(.computes)) struct JPEGEncoderTests {
    @Test(arguments: [
        (1, 1, ChromaSubsampling.yuv420, 3_520), (17, 9, .yuv444, 5_440), (33, 8, .yuv411, 5_440),
        (16, 16, .gray, 3_200),
        // More pixels than the library's own function can count.
        (46_352, 46_352, .yuv420, 8_056_907_200), (65_500, 65_500, .yuv444, 32_180_807_680),
    ])
    func `the largest JPEG of any size is known`(
        width: Int,
        height: Int,
        subsampling: ChromaSubsampling,
        byteCount: Int
    ) throws {
        #expect(try JPEGEncoder(subsampling: subsampling).maximumByteCount(width: width, height: height) == byteCount)
    }

    @Test(arguments: packedFormats, ChromaSubsampling.allCases)
    func `the bytes are those of cjpeg`(format: PixelFormat, subsampling: ChromaSubsampling) throws {
        let isGray = format == .gray || subsampling == .gray
        let factors = subsampling.pixelsPerChromaSample
        let sampling = isGray ? ["-grayscale"] : ["-sample", "\(factors.width)x\(factors.height)"]
        for (width, height) in [(1, 1), (17, 33), (128, 96)] {
            let image = try testImage(width, height, as: format)
            let jpeg = try JPEGEncoder(quality: 95, subsampling: subsampling).encode(image)
            #expect(try ReferenceTool.cjpeg.run(["-quality", "95"] + sampling, on: image.ppm()) == jpeg)
            let header = try JPEGHeader(inspecting: jpeg.span)
            #expect((header.width, header.height) == (width, height))
            #expect(header.subsampling == (isGray ? .gray : subsampling))
        }
    }

    @Test(arguments: [PixelFormat.bgra, .rgba, .argb, .abgr, .bgrx])
    func `the fourth byte is ignored`(format: PixelFormat) throws {
        var image = try testImage(24, 24, as: format)
        let jpeg = try JPEGEncoder().encode(image)
        let alpha = [.argb, .abgr].contains(format) ? 0 : 3
        for y in 0..<24 {
            try image.withMutableRow(y) { row in
                for x in 0..<24 { row[4 * x + alpha] = UInt8(x * 7) }
            }
        }
        #expect(try JPEGEncoder().encode(image) == jpeg)
    }

    /// Tiles of 8x8 black and white pixels can take more than the two bytes per sample that `tjBufSize` allows for.
    @Test(arguments: [PixelFormat.gray, .i420, .nv12, .bgra])
    func `a JPEG of twice the size of its image is encoded`(format: PixelFormat) throws {
        let tile: UInt64 = 0xA4AB_BCCE_B724_28A8
        for (width, height) in [(256, 256), (801, 203)] {
            let image = try PixelBuffer(width: width, height: height, format: format) { _, x, y in
                tile >> UInt64((7 - y % 8) * 8 + 7 - x / (format == .bgra ? 4 : 1) % 8) & 1 == 1 ? 255 : 0
            }
            let encoder = JPEGEncoder(quality: 100, subsampling: format == .gray ? .gray : .yuv420)
            let jpeg = try encoder.encode(image)
            let bound = try encoder.maximumByteCount(width: width, height: height)
            #expect(jpeg.count <= bound)
            let decoded = try JPEGDecoder().decode(bytes: jpeg, as: format)
            #expect(try decoded.peakSignalToNoiseRatio(against: image) > 30)
        }
    }

    @Test(arguments: PixelFormat.allCases, [ChromaSubsampling.yuv420, .gray])
    func `padding is not encoded`(format: PixelFormat, subsampling: ChromaSubsampling) throws {
        let encoder = JPEGEncoder(subsampling: subsampling)
        for (width, height) in [(17, 33), (16, 16), (1, 1)] {
            let tight = try testImage(width, height, as: format)
            let stride = width * format.bytesPerPixel
            let jpeg = try encoder.encode(tight)
            for padding in [0, 1, 13] {
                let padded = try testImage(width, height, as: format, bytesPerRow: stride + padding)
                #expect(try encoder.encode(padded) == jpeg, "\(width)x\(height), \(padding) bytes")
            }
            let larger = try testImage(width + 9, height + 9, as: format)
            var part = try larger.cropped(toWidth: width, height: height)
            try part.copySamples(of: tight)
            #expect(try encoder.encode(part) == jpeg)
        }
    }

    @Test(arguments: [0, -1, 101, .max, .min])
    func `an impossible quality is refused`(quality: Int) throws {
        for format in PixelFormat.allCases {
            let image = try testImage(4, 4, as: format)
            let code = errorCode { () throws(TurboJPEGError) in _ = try JPEGEncoder(quality: quality).encode(image) }
            #expect(code == .invalidQuality)
        }
    }

    @Test(arguments: ChromaSubsampling.allCases)
    func `a JPEG is appended to an output that has room for it`(subsampling: ChromaSubsampling) throws {
        let encoder = JPEGEncoder(quality: 100, subsampling: subsampling)
        let room = try encoder.maximumByteCount(width: 17, height: 9)
        for format in PixelFormat.allCases {
            let image = try testImage(17, 9, as: format)
            let bytes = try [UInt8](capacity: room + 1) { output in
                output.append(42)
                try encoder.encode(image, into: &output)
            }
            #expect(try bytes == [42] + encoder.encode(image))
            let left = [UInt8](capacity: room) { output in
                output.append(42)
                let code = errorCode { () throws(TurboJPEGError) in try encoder.encode(image, into: &output) }
                #expect(code == .outputTooSmall)
            }
            #expect(left == [42])
        }
    }

    @Test(arguments: sizes)
    func `encoding planes adds no loss`(width: Int, height: Int) throws {
        let image = try testImage(width, height, as: .i420)
        let interleaved = try testImage(width, height, as: .nv12)
        #expect(try image.peakSignalToNoiseRatio(against: interleaved) == .infinity)
        let jpeg = try JPEGEncoder(quality: 100).encode(image)
        #expect(try JPEGEncoder(quality: 100).encode(interleaved) == jpeg)
        let decoded = try JPEGDecoder().decode(bytes: jpeg, as: .i420)
        #expect(try decoded.peakSignalToNoiseRatio(against: image) > 48)
        // Planes have one chroma sample for four pixels, whatever is asked.
        #expect(try JPEGEncoder(quality: 100, subsampling: .yuv444).encode(image) == jpeg)
        #expect(try JPEGHeader(inspecting: jpeg.span).subsampling == .yuv420)
        let gray = try JPEGEncoder(quality: 90, subsampling: .gray).encode(image)
        let luma = try PixelBuffer(copying: image.packedLuma.span, width: width, height: height, format: .gray)
        #expect(try JPEGEncoder(quality: 90).encode(luma) == gray)
    }
}

extension PixelBuffer {
    /// The visible bytes of the first plane.
    fileprivate var packedLuma: [UInt8] { (0..<height).flatMap { row($0) } }
}
