import TestDescriptions
import TestSupport
import Testing
import TurboJPEG

/// What a decoder can be told that changes pixels, and how `djpeg` is told the same.
struct DecodingOptions: Sendable, CustomTestStringConvertible {
    var usesFastUpsampling = false
    var scale = "1/1"

    static let all = [
        DecodingOptions(), DecodingOptions(usesFastUpsampling: true),
        DecodingOptions(scale: "1/2"), DecodingOptions(usesFastUpsampling: true, scale: "3/8"),
        DecodingOptions(scale: "2/1"),
    ]

    var testDescription: String { "scale \(scale)\(usesFastUpsampling ? ", fast upsampling" : "")" }

    var arguments: [String] {
        ["-pnm", "-dct", "int", "-scale", scale] + (usesFastUpsampling ? ["-nosmooth"] : [])
    }

    var decoder: JPEGDecoder {
        var decoder = JPEGDecoder()
        decoder.usesFastUpsampling = usesFastUpsampling
        return decoder
    }
}

@Suite(.tags(.computes)) struct JPEGDecoderTests {
    @Test(arguments: ChromaSubsampling.allCases, DecodingOptions.all)
    func `packed pixels equal those of djpeg`(subsampling: ChromaSubsampling, options: DecodingOptions) throws {
        let scale = try #require(JPEGDecoder.ScalingFactor.allSupported.first { $0.description == options.scale })
        for (width, height) in [(1, 1), (17, 33), (150, 101)] {
            let jpeg = try JPEGEncoder(subsampling: subsampling).encode(testImage(width, height))
            let colors = try ReferenceTool.djpeg.run(options.arguments, on: jpeg)
            let grays = try ReferenceTool.djpeg.run(options.arguments + ["-grayscale"], on: jpeg)
            // The smallest images have one size at several fractions, and the library then takes the largest.
            if (width, height) == (1, 1), options.scale != "1/1" { continue }
            for format in packedFormats {
                let decoded = try options.decoder.decode(bytes: jpeg, as: format, scale: scale)
                let expected = try PixelBuffer(ppm: (format == .gray ? grays : colors).span, as: format)
                #expect(decoded.hasSamePixels(as: expected), "\(format.rawValue), \(width)x\(height)")
            }
        }
    }

    @Test(arguments: packedFormats)
    func `a phone's screen is decoded as djpeg does it`(format: PixelFormat) throws {
        let jpeg = try JPEGEncoder().encode(testImage(563, 1219))
        let expected = try ReferenceTool.djpeg.run(["-pnm"] + (format == .gray ? ["-grayscale"] : []), on: jpeg)
        let decoded = try JPEGDecoder().decode(bytes: jpeg, as: format)
        #expect(try decoded.hasSamePixels(as: PixelBuffer(ppm: expected.span, as: format)))
    }

    @Test(arguments: [["-progressive"], ["-restart", "1"], ["-optimize"], ["-rgb"], ["-grayscale"]])
    func `other kinds of JPEG are decoded as djpeg does it`(arguments: [String]) throws {
        let jpeg = try ReferenceTool.cjpeg.run(arguments, on: testImage(75, 51).ppm())
        let expected = try ReferenceTool.djpeg.run(["-ppm"], on: jpeg)
        var decoder = JPEGDecoder()
        decoder.limits = .ownFiles
        let decoded = try decoder.decode(bytes: jpeg, as: .bgra)
        #expect(try decoded.hasSamePixels(as: PixelBuffer(ppm: expected.span, as: .bgra)))
    }

    @Test(arguments: PixelFormat.allCases, ChromaSubsampling.allCases)
    func `an image is copied into a larger one, whose other bytes stay`(
        format: PixelFormat,
        subsampling: ChromaSubsampling
    ) throws {
        let decoder = JPEGDecoder()
        for (width, height) in [(17, 33), (16, 16), (1, 1), (1, 7)] {
            let jpeg = try JPEGEncoder(subsampling: subsampling).encode(testImage(width, height))
            let expected = try decoder.decode(bytes: jpeg, as: format)
            for (extraWidth, extraHeight, padding) in [(0, 0, 0), (0, 0, 1), (0, 0, 13), (1, 1, 0), (9, 5, 3)] {
                let (fullWidth, fullHeight) = (width + extraWidth, height + extraHeight)
                var buffer = try PixelBuffer(
                    width: fullWidth,
                    height: fullHeight,
                    format: format,
                    bytesPerRow: fullWidth * format.bytesPerPixel + padding
                )
                try buffer.fill(0xA5)
                try expected.copy(toCornerOf: &buffer)
                #expect(try buffer.cropped(toWidth: width, height: height).hasSamePixels(as: expected))
                for plane in 0..<format.planeCount {
                    let (shape, inner) = (buffer.plane(plane), expected.plane(plane))
                    let bytes = buffer.bytes(ofPlane: plane)
                    let touched = bytes.indices.filter { index in
                        let isInside =
                            index % shape.bytesPerRow < inner.visibleBytesPerRow
                            && index / shape.bytesPerRow < inner.height
                        return !isInside && bytes[index] != 0xA5
                    }
                    #expect(touched.isEmpty, "\(width)x\(height) in \(fullWidth)x\(fullHeight) + \(padding)")
                }
            }
        }
    }

    @Test func `copying into a shared buffer leaves the other copy alone`() throws {
        let jpeg = try JPEGEncoder().encode(testImage(20, 20))
        for size in [20, 24] {
            var buffer = try PixelBuffer(width: size, height: size, format: .bgra, zeroFilled: true)
            let other = buffer
            try JPEGDecoder().decode(bytes: jpeg, as: .bgra).copy(toCornerOf: &buffer)
            #expect(other.bytes().allSatisfy { $0 == 0 })
            #expect(buffer.row(0)[3] == 255)
            #expect(buffer.row(size - 1).suffix(4) == (size == 24 ? [0, 0, 0, 0] : buffer.row(19).suffix(4)))
        }
    }

    @Test(arguments: [(19, 20), (20, 19), (1, 1)])
    func `a buffer that is too small is refused`(width: Int, height: Int) throws {
        let image = try testImage(20, 20, as: .bgra)
        var buffer = try PixelBuffer(width: width, height: height, format: .bgra, zeroFilled: true)
        let code = errorCode { () throws(TurboJPEGError) in try image.copy(toCornerOf: &buffer) }
        #expect(code == .bufferTooSmall)
        #expect(buffer.bytes().allSatisfy { $0 == 0 })
    }

    @Test(arguments: PixelFormat.allCases)
    func `memory is recycled`(format: PixelFormat) throws {
        let pool = PixelBuffer.Pool()
        let decoder = JPEGDecoder(pool: pool)
        let jpeg = try JPEGEncoder().encode(testImage(33, 17))
        for _ in 0..<10 { _ = try decoder.decode(bytes: jpeg, as: format) }
        #expect(pool.allocatedCount == 1)
        #expect(pool.recycledCount == 9)
    }

    @Test func `several tasks can decode at once`() async throws {
        let decoder = JPEGDecoder()
        let encoder = JPEGEncoder()
        let formats: [PixelFormat] = [.bgra, .i420, .nv12, .gray]
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (index, format) in formats.enumerated() {
                group.addTask {
                    let image = try testImage(61 + index, 47, as: format)
                    let jpeg = try encoder.encode(image)
                    let first = try decoder.decode(bytes: jpeg, as: format)
                    for _ in 0..<60 {
                        #expect(try encoder.encode(image) == jpeg)
                        #expect(try decoder.decode(bytes: jpeg, as: format).hasSamePixels(as: first))
                        #expect(throws: TurboJPEGError.self) {
                            try decoder.decode(bytes: jpeg.dropLast(40) + [], as: format)
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
    }
}
