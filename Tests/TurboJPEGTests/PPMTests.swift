import TestDescriptions
import TestSupport
import Testing
import TurboJPEG

@Suite(.tags(.computes)) struct PPMTests {
    @Test(arguments: PixelFormat.allCases, sizes.dropLast())
    func `an image that is written and read again is the same`(format: PixelFormat, size: (Int, Int)) throws {
        let image = try testImage(size.0, size.1, as: format)
        let file = image.ppm()
        #expect(file.starts(with: Array((format == .gray ? "P5" : "P6").utf8)))
        let again = try PixelBuffer(ppm: file.span, as: format)
        if format.isPlanar {
            // Through RGB and back: chroma is rounded and, where colours leave RGB's range, cut.
            #expect(try again.peakSignalToNoiseRatio(against: image) > 36)
        } else {
            #expect(again.hasSamePixels(as: image))
        }
    }

    @Test(
        arguments: [
            ("P6 2 1 255\n", [1, 2, 3, 4, 5, 6], [1, 2, 3, 4, 5, 6]),
            ("P6\n# made by hand\n2 # wide\n 1\t\n255\n", [1, 2, 3, 4, 5, 6], [1, 2, 3, 4, 5, 6]),
            ("P6 2 1 255 ", [10, 32, 35, 9, 48, 49], [10, 32, 35, 9, 48, 49]),
            ("P6 1 1 255\n", [1, 2, 3, 99, 99], [1, 2, 3]),
            ("P5 2 1 255\n", [7, 8], [7, 7, 7, 8, 8, 8]),
            ("P5 2 1 3\n", [0, 3], [0, 0, 0, 255, 255, 255]),
            ("P5 2 1 65535\n", [255, 255, 128, 0], [255, 255, 255, 128, 128, 128]),
            ("P2 2 1 9 0 9", [], [0, 0, 0, 255, 255, 255]),
            ("P3\n1 1\n255\n1 2 # two\n3", [], [1, 2, 3]),
            ("P3 1 1 65535 65535 0 32768\n", [], [255, 0, 128]),
        ] as [(String, [UInt8], [UInt8])]
    )
    func `every valid form of a header is accepted`(header: String, samples: [UInt8], pixels: [UInt8]) throws {
        let image = try PixelBuffer(ppm: (Array(header.utf8) + samples).span)
        #expect(image.row(0) == pixels)
    }

    @Test(arguments: [
        ("", TurboJPEGError.Code.invalidPPM), ("P", .invalidPPM), ("JFIF", .invalidPPM), ("P1 1 1 0", .unsupportedPPM),
        ("P4 1 1 0", .unsupportedPPM), ("P7\nWIDTH 1", .unsupportedPPM), ("P61 1 255 abc", .invalidPPM),
        ("P6", .truncatedPPM), ("P6 ", .truncatedPPM), ("P6 1", .truncatedPPM), ("P6 1 1", .truncatedPPM),
        ("P6 1 1 255", .truncatedPPM), ("P6 1 1 255\n", .truncatedPPM), ("P6 1 1 255\nab", .truncatedPPM),
        ("P6 0 1 255\nabc", .invalidPPM), ("P6 1 0 255\nabc", .invalidPPM), ("P6 -1 1 255\nabc", .invalidPPM),
        ("P6 65501 1 255\nabc", .invalidPPM), ("P6 1 1 0\nabc", .invalidPPM), ("P6 1 1 65536\nabcdef", .invalidPPM),
        ("P6 1 1 256\nabc", .truncatedPPM), ("P6 99999999999999999999 1 255\nabc", .invalidPPM),
        ("P6 65500 65500 255\nabc", .truncatedPPM), ("P6 65500 65500 65535\nabc", .truncatedPPM),
        ("P3 65500 65500 255\n1 2 3", .truncatedPPM), ("P6 1x1 255\nabc", .invalidPPM), ("P6 1 1 255xabc", .invalidPPM),
        ("P6 1 1 100\n\u{7f}\u{7f}\u{7f}", .invalidPPM), ("P3 1 1 255 1 2 x", .invalidPPM),
        ("P3 1 1 255 1 2 256", .invalidPPM),
        ("P3 1 1 9 1 2 10", .invalidPPM), ("P3 1 1 255 1 2\n\n\n", .truncatedPPM),
        ("P3 1 1 255 # 1 2 3", .truncatedPPM),
        ("P6 # 1 1 255", .truncatedPPM), ("P3 1 1 255 000000000001 2 3", .invalidPPM),
        ("P6 1.0 1 255\nabc", .invalidPPM),
    ])
    func `invalid files are refused`(file: String, code: TurboJPEGError.Code) {
        for format in PixelFormat.allCases {
            let bytes = Array(file.utf8)
            let thrown = errorCode { () throws(TurboJPEGError) in _ = try PixelBuffer(ppm: bytes.span, as: format) }
            #expect(thrown == code, "\(file)")
        }
    }

    @Test func `random bytes never trap`() throws {
        let seed = UInt64.random(in: 0...UInt64.max)
        var generator = SplitMix(seed: seed)
        let alphabet = Array("P 0123456789\n#\t2356 255 1 1".utf8)
        for _ in 0..<20_000 {
            let count = Int.random(in: 0...24, using: &generator)
            let tail = (0..<count).map { _ in alphabet.randomElement(using: &generator) ?? 0 }
            let bytes = Array("P\(Int.random(in: 2...6, using: &generator))".utf8) + tail
            let code = errorCode { () throws(TurboJPEGError) in
                let image = try PixelBuffer(ppm: bytes.span)
                #expect(image.packedByteCount <= 3 * bytes.count, "seed \(seed): more pixels than bytes")
            }
            if let code { #expect(code.rawValue.hasPrefix("ppm."), "seed \(seed), \(bytes)") }
        }
    }
}
