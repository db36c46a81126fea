import TestDescriptions
import TestSupport
import Testing
import TurboJPEG

/// JPEGs that deviate from the format, strictly and leniently: what libjpeg-turbo reads without a loss is decoded as by
/// `djpeg` if the limits allow it, and nothing else is.
@Suite(.tags(.computes), .timeLimit(.minutes(15))) struct DeviationTests {
    /// JPEGs that are as they should be.
    enum Base: String, CaseIterable {
        case sequential, fine, gray, strips, progressive

        var jpeg: [UInt8] {
            get throws {
                let image = try testImage(75, 51)
                switch self {
                case .sequential: return try JPEGEncoder().encode(image)
                case .fine: return try JPEGEncoder(subsampling: .yuv444).encode(image)
                case .gray: return try JPEGEncoder(subsampling: .gray).encode(image)
                case .strips: return try StripEncoder().encode(image, with: JPEGEncoder()).jpeg
                case .progressive: return try ReferenceTool.cjpeg.run(["-progressive"], on: image.ppm())
                }
            }
        }

        func suits(_ deviation: DeviatingJPEG) -> Bool {
            switch self {
            case .gray: !deviation.isForColor
            case .progressive: !deviation.isSequential
            case .sequential, .fine, .strips: true
            }
        }
    }

    private static let pairs = Base.allCases.flatMap { base in
        DeviatingJPEG.all.filter(base.suits).map { (base, $0) }
    }

    private let strict = {
        var decoder = JPEGDecoder()
        decoder.limits.maximumProgressiveScans = 100
        return decoder
    }()

    private let lenient = {
        var decoder = JPEGDecoder()
        decoder.limits = .lenient
        decoder.limits.maximumProgressiveScans = 100
        return decoder
    }()

    @Test(arguments: pairs)
    func `a deviation is refused by default, with an error that names lenient limits`(
        base: Base,
        deviation: DeviatingJPEG
    ) throws {
        let original = try base.jpeg
        let jpeg = deviation.apply(original)
        try #require(jpeg != original)
        let error = try #require(JPEGGateTests.error(of: jpeg, as: .bgra, strict))
        #expect(error.code == deviation.code && error.isDeviation, "\(error)")
        #expect(error.message.contains("lenient limits accept it"), "\(error)")
        #expect(error.libraryMessage == nil)
        #expect(strict.pool.allocatedCount == 0)
        // What the user has chosen is no exception.
        var own = strict
        own.limits = .ownFiles
        #expect(JPEGGateTests.error(of: jpeg, as: .bgra, own)?.code == deviation.code)
    }

    @Test(arguments: pairs)
    func `with lenient limits the pixels are those of djpeg`(base: Base, deviation: DeviatingJPEG) throws {
        let jpeg = deviation.apply(try base.jpeg)
        let reference = try ReferenceTool.djpeg.run(["-pnm", "-rgb"], on: jpeg, acceptsWarnings: true)
        let expected = try PixelBuffer(ppm: reference.span, as: .rgb)
        #expect(try lenient.decode(bytes: jpeg, as: .rgb).hasSamePixels(as: expected))
        let header = try JPEGHeader(inspecting: jpeg.span)
        #expect((header.width, header.height) == (75, 51))
        #expect(try JPEGHeader.size(of: jpeg.span) == (75, 51))
    }

    @Test(arguments: pairs)
    func `formats, scales, strips and rotations are those of the JPEG without the deviation`(
        base: Base,
        deviation: DeviatingJPEG
    ) throws {
        let original = try base.jpeg
        let jpeg = deviation.apply(original)
        for format in JPEGGateTests.formats {
            let expected = try lenient.decode(bytes: original, as: format)
            #expect(try lenient.decode(bytes: jpeg, as: format).hasSamePixels(as: expected))
            let strips = StripDecoder(decoder: lenient)
            #expect(try strips.decode(jpeg.span, as: format).image.hasSamePixels(as: expected))
            #expect(try strips.decode(jpeg.span, as: format).image.hasSamePixels(as: expected))
            let small = try lenient.decode(bytes: original, as: format, scale: .half)
            #expect(try lenient.decode(bytes: jpeg, as: format, scale: .half).hasSamePixels(as: small))
        }
        let turned = try JPEGTransform.flipVertical.apply(to: original.span, limits: lenient.limits)
        let other = try JPEGTransform.flipVertical.apply(to: jpeg.span, limits: lenient.limits)
        let expected = try lenient.decode(bytes: turned, as: .bgra)
        #expect(try lenient.decode(bytes: other, as: .bgra).hasSamePixels(as: expected))
    }

    /// As a camera with one fault sends: every frame deviates, and parts of it change.
    @Test(arguments: DeviatingJPEG.all)
    func `of strips that deviate, only those that changed are decoded`(deviation: DeviatingJPEG) throws {
        var image = try testImage(160, 320, as: .bgra)
        let encoder = StripEncoder()
        let (plain, deviating) = (StripDecoder(decoder: lenient), StripDecoder(decoder: lenient))
        for step in 0..<8 {
            if step % 3 != 1 { try image.withMutableRow(40 * step) { $0[8] ^= 0xFF } }
            let original = try encoder.encode(image, with: JPEGEncoder()).jpeg
            let jpeg = deviation.apply(original)
            let expected = try plain.decode(original.span, as: .bgra)
            let found = try deviating.decode(jpeg.span, as: .bgra)
            #expect(found.image.hasSamePixels(as: expected.image), "step \(step)")
            #expect(found.changes == expected.changes, "step \(step)")
        }
    }

    @Test(arguments: DeviatingJPEG.all)
    func `damage in a JPEG that deviates is an error`(deviation: DeviatingJPEG) throws {
        let original = try JPEGEncoder().encode(testImage(75, 51))
        // The last bytes of the data: they code no whole image any more.
        let damaged = deviation.apply(original.dropLast(40) + [0xFF, 0xD9])
        let codes: [TurboJPEGError.Code?] = [.corrupt, .truncated]
        #expect(codes.contains(JPEGGateTests.error(of: damaged, as: .bgra, lenient)?.code))
    }

    // MARK: What is refused in any case

    /// JPEGs that libjpeg-turbo decodes to something else than their encoder meant, or not at all.
    private static let refused: [(name: String, bytes: [UInt8], code: TurboJPEGError.Code)] = {
        let good = HostileJPEG.good
        let unnamed = HandmadeJPEG.header(width: 8, height: 8, components: [(1, 0x11), (1, 0x11), (1, 0x11)])
        let start = unnamed.firstIndex(ofMarker: 0xDA, from: 2) ?? 0
        let scan = HandmadeJPEG.segment(0xDA, [1, 1, 0, 0, 63, 0]) + [0x3F]
        let exchanged = HandmadeJPEG.segment(0xDA, [3, 3, 0, 2, 0, 1, 0, 0, 63, 0]) + [0, 0xFF, 0xD9]
        let threeNames = HandmadeJPEG.header(width: 8, height: 8, components: [(1, 0x11), (2, 0x11), (3, 0x11)])
        let scanOfThree = threeNames.firstIndex(ofMarker: 0xDA, from: 2) ?? 0
        let empty = HandmadeJPEG.segment(0xC4, [0] + [UInt8](repeating: 0, count: 16))
        let stray = (0..<1_001).flatMap { _ in [0] + HandmadeJPEG.segment(0xFE, []) }
        return [
            ("scans of components with one name", unnamed[..<start] + scan + scan + scan + [0xFF, 0xD9], .malformed),
            ("a scan in another order", threeNames[..<scanOfThree] + exchanged, .malformed),
            ("a used table without codes", HandmadeJPEG.inserting(empty, before: 0xDA, in: good), .missingTable),
            (
                "more stray bytes than any camera writes", HandmadeJPEG.inserting(stray, before: 0xDB, in: good),
                .malformed
            ),
            ("a table of no length", HandmadeJPEG.inserting([0xFF, 0xDB, 0, 1], before: 0xDA, in: good), .malformed),
            ("half of the data", Array(good.prefix(good.count / 2)), .truncated),
            ("the data of one component", unnamed[..<start] + scan, .malformed),
            ("a second start", HandmadeJPEG.inserting([0xFF, 0xD8], before: 0xDB, in: good), .malformed),
        ]
    }()

    @Test(arguments: refused.indices)
    func `what libjpeg-turbo does not decode right is refused even if the limits are lenient`(number: Int) throws {
        let (name, bytes, code) = Self.refused[number]
        let error = try #require(JPEGGateTests.error(of: bytes, as: .bgra, lenient), "\(name)")
        #expect([code, .truncated, .corrupt].contains(error.code), "\(name): \(error)")
        #expect(!error.isDeviation)
    }

    @Test(arguments: HostileJPEG.all)
    func `a hostile JPEG is no image or a typed error if the limits are lenient`(_ hostile: HostileJPEG) {
        for format in JPEGGateTests.formats {
            let pool = PixelBuffer.Pool()
            var decoder = JPEGDecoder(pool: pool)
            decoder.limits = .lenient
            let first = JPEGGateTests.error(of: hostile.bytes, as: format, decoder)
            #expect(JPEGGateTests.error(of: hostile.bytes, as: format, decoder) == first)
            #expect(first?.isDeviation != true)
        }
    }
}
