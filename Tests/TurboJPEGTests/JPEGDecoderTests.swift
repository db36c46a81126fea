import TestDescriptions
import TestSupport
import Testing
import TurboJPEG

@Suite(.tags(.computes)) struct JPEGDecoderTests {
    @Test(arguments: ChromaSubsampling.allCases, ["1/1", "1/2", "3/8", "2/1"])
    func `packed pixels equal those of djpeg`(subsampling: ChromaSubsampling, factor: String) throws {
        let scale = try #require(JPEGDecoder.ScalingFactor.allSupported.first { $0.description == factor })
        for (width, height) in [(1, 1), (17, 33), (150, 101)] {
            // The smallest images have one size at several fractions, and the library then takes the largest.
            if (width, height) == (1, 1), factor != "1/1" { continue }
            let jpeg = try JPEGEncoder(subsampling: subsampling).encode(testImage(width, height))
            let arguments = ["-pnm", "-dct", "int", "-scale", factor]
            let colors = try ReferenceTool.djpeg.run(arguments, on: jpeg)
            let grays = try ReferenceTool.djpeg.run(arguments + ["-grayscale"], on: jpeg)
            for format in packedFormats {
                let decoded = try JPEGDecoder().decode(bytes: jpeg, as: format, scale: scale)
                let expected = try PixelBuffer(ppm: (format == .gray ? grays : colors).span, as: format)
                #expect(decoded.hasSamePixels(as: expected), "\(format.rawValue), \(width)x\(height)")
            }
        }
    }

    @Test(arguments: [["-progressive"], ["-restart", "1"], ["-optimize"], ["-rgb"], ["-grayscale"]])
    func `other kinds of JPEG are decoded as djpeg does it`(arguments: [String]) throws {
        let jpeg = try ReferenceTool.cjpeg.run(arguments, on: testImage(75, 51).ppm())
        let expected = try ReferenceTool.djpeg.run(["-ppm"], on: jpeg)
        var decoder = JPEGDecoder()
        if arguments == ["-progressive"] {
            #expect(JPEGGateTests.error(of: jpeg, as: .bgra, decoder)?.code == .unsupported)
            decoder.limits = .ownFiles
        }
        let decoded = try decoder.decode(bytes: jpeg, as: .bgra)
        #expect(try decoded.hasSamePixels(as: PixelBuffer(ppm: expected.span, as: .bgra)))
    }

    @Test(arguments: PixelFormat.allCases)
    func `an image is copied into a larger one, whose other bytes stay`(format: PixelFormat) throws {
        for (width, height) in [(17, 33), (16, 16), (1, 1), (1, 7)] {
            let expected = try testImage(width, height, as: format)
            for (extraWidth, extraHeight, padding) in [(0, 0, 0), (0, 0, 13), (1, 0, 0), (0, 1, 1), (9, 5, 3)] {
                let (fullWidth, fullHeight) = (width + extraWidth, height + extraHeight)
                var buffer = try PixelBuffer(
                    width: fullWidth,
                    height: fullHeight,
                    format: format,
                    bytesPerRow: fullWidth * format.bytesPerPixel + padding
                )
                try buffer.fill(0xA5)
                let other = buffer
                try expected.copy(toCornerOf: &buffer)
                #expect(try buffer.cropped(toWidth: width, height: height).hasSamePixels(as: expected))
                for plane in 0..<format.planeCount {
                    let (shape, inner) = (buffer.plane(plane), expected.plane(plane))
                    #expect(other.bytes(ofPlane: plane).allSatisfy { $0 == 0xA5 })
                    for y in 0..<shape.height {
                        let isTouched = buffer.row(y, ofPlane: plane)
                            .dropFirst(y < inner.height ? inner.visibleBytesPerRow : 0).contains { $0 != 0xA5 }
                        #expect(!isTouched, "\(width)x\(height) in \(fullWidth)x\(fullHeight) + \(padding)")
                    }
                }
                guard extraWidth + extraHeight > 0 else { continue }
                var small = expected
                let code = errorCode { () throws(TurboJPEGError) in try buffer.copy(toCornerOf: &small) }
                #expect(code == .bufferTooSmall && small.hasSamePixels(as: expected))
            }
        }
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
