import TestDescriptions
import TestSupport
import Testing
import TurboJPEG

@Suite(.tags(.computes)) struct PlanarDecodingTests {
    @Test(arguments: sizes)
    func `colors equal those of djpeg with repeated chroma`(width: Int, height: Int) throws {
        let jpeg = try JPEGEncoder().encode(testImage(width, height))
        let expected = try ReferenceTool.djpeg.run(["-pnm", "-nosmooth"], on: jpeg)
        for format in planarFormats {
            let decoded = try JPEGDecoder().decode(bytes: jpeg, as: format)
            #expect(try decoded.ppm() == expected, "\(format.rawValue)")
        }
    }

    @Test(arguments: ChromaSubsampling.allCases, sizes)
    func `both planar formats hold the same samples`(subsampling: ChromaSubsampling, size: (Int, Int)) throws {
        let jpeg = try JPEGEncoder(subsampling: subsampling).encode(testImage(size.0, size.1))
        let planes = try JPEGDecoder().decode(bytes: jpeg, as: .i420)
        let pairs = try JPEGDecoder().decode(bytes: jpeg, as: .nv12)
        for y in 0..<size.1 { #expect(planes.row(y) == pairs.row(y)) }
        for y in 0..<(size.1 + 1) / 2 {
            let interleaved = zip(planes.row(y, ofPlane: 1), planes.row(y, ofPlane: 2)).flatMap { [$0, $1] }
            #expect(pairs.row(y, ofPlane: 1) == interleaved)
        }
        #expect(try planes.peakSignalToNoiseRatio(against: pairs) == .infinity)
    }

    /// libturbojpeg copies more samples of a row than it has for some of these, which AddressSanitizer shows.
    @Test(arguments: ChromaSubsampling.allCases, planarFormats)
    func `every width at every scale is decoded to planes of its colors`(
        subsampling: ChromaSubsampling,
        format: PixelFormat
    ) throws {
        for width in 1...40 {
            let jpeg = try JPEGEncoder(quality: 95, subsampling: subsampling).encode(
                solidImage(width, 9, red: 200, green: 90, blue: 40)
            )
            for scale in JPEGDecoder.ScalingFactor.allSupported where scale.numerator <= scale.denominator {
                let planes = try JPEGDecoder().decode(bytes: jpeg, as: format, scale: scale)
                let colors = try JPEGDecoder().decode(bytes: jpeg, as: .rgb, scale: scale)
                #expect((planes.width, planes.height) == (colors.width, colors.height))
                #expect(try planes.peakSignalToNoiseRatio(against: colors) > 38, "\(width) at \(scale)")
            }
        }
    }

    @Test func `a gray JPEG has no color`() throws {
        let jpeg = try JPEGEncoder(subsampling: .gray).encode(testImage(17, 33))
        for format in planarFormats {
            let decoded = try JPEGDecoder().decode(bytes: jpeg, as: format)
            for plane in 1..<format.planeCount {
                for y in 0..<17 { #expect(decoded.row(y, ofPlane: plane).allSatisfy { $0 == 128 }) }
            }
        }
    }

    @Test func `a JPEG of red, green and blue is converted`() throws {
        let jpeg = try ReferenceTool.cjpeg.run(["-rgb", "-quality", "100"], on: smoothImage(31, 21).ppm())
        let expected = try JPEGDecoder().decode(bytes: jpeg, as: .rgb).converted(as: .nv12)
        #expect(try JPEGDecoder().decode(bytes: jpeg, as: .nv12).hasSamePixels(as: expected))
    }

    @Test(arguments: ChromaSubsampling.allCases, JPEGDecoder.ScalingFactor.allSupported)
    func `scaled planes equal those of djpeg`(subsampling: ChromaSubsampling, scale: JPEGDecoder.ScalingFactor) throws {
        let jpeg = try JPEGEncoder(quality: 95, subsampling: subsampling).encode(smoothImage(145, 99))
        let decoded = try JPEGDecoder().decode(bytes: jpeg, as: .i420, scale: scale)
        let gray = try ReferenceTool.djpeg.run(["-pnm", "-grayscale", "-scale", scale.description], on: jpeg)
        let luma = try PixelBuffer(ppm: gray.span, as: .gray)
        #expect((decoded.width, decoded.height) == (luma.width, luma.height))
        for y in 0..<luma.height { #expect(decoded.row(y) == luma.row(y)) }
        let colors = try JPEGDecoder().decode(bytes: jpeg, as: .rgb, scale: scale)
        let quality = try decoded.peakSignalToNoiseRatio(against: colors)
        #expect(quality > 30, "\(quality) dB")
    }

    /// An image whose colours change slowly, so that the way in which chroma is resampled hardly matters.
    private func smoothImage(_ width: Int, _ height: Int) throws -> PixelBuffer {
        var pixels: [UInt8] = []
        for y in 0..<height {
            for x in 0..<width {
                pixels += [
                    UInt8(60 + 100 * x / width), UInt8(70 + 90 * y / height),
                    UInt8(180 - 60 * (x + y) / (width + height)),
                ]
            }
        }
        return try PixelBuffer(copying: pixels.span, width: width, height: height, format: .rgb)
    }
}
