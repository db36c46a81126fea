import Testing
import TurboJPEG

@Suite struct HostileJPEGTests {
    /// A JPEG that can be decoded.
    private static let good = (try? JPEGEncoder().encode(testPicture(75, 51))) ?? []

    /// A JPEG's bytes, what they are, and what must be said of them.
    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let bytes: [UInt8]
        let codes: Set<TurboJPEGError.Code>

        init(_ name: String, _ bytes: [UInt8], _ codes: TurboJPEGError.Code...) {
            testDescription = name
            self.bytes = bytes
            self.codes = Set(codes)
        }
    }

    static let cases = [
        Case("nothing", [], .notJPEG),
        Case("one byte", [0xFF], .notJPEG),
        Case("text", Array("HTTP/1.1 200 OK".utf8), .notJPEG),
        Case("PNG", [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0, 0, 0, 13], .notJPEG),
        Case("start alone", [0xFF, 0xD8], .truncated, .noPicture),
        Case("start and end", [0xFF, 0xD8, 0xFF, 0xD9], .noPicture),
        Case("start and zeros", [0xFF, 0xD8] + [UInt8](repeating: 0, count: 500), .decodeFailed, .truncated, .corrupt),
        Case(
            "tables alone",
            [0xFF, 0xD8] + HandmadeJPEG.segment(0xDB, [0] + [UInt8](repeating: 1, count: 64)) + [0xFF, 0xD9],
            .noPicture
        ),
        Case("header alone", HandmadeJPEG.header(width: 8, height: 8), .truncated, .decodeFailed, .corrupt),
        Case("no width", HandmadeJPEG.header(width: 0, height: 8), .decodeFailed),
        Case("no height", HandmadeJPEG.header(width: 8, height: 0), .decodeFailed),
        Case("65,500 squared", HandmadeJPEG.header(width: 65_500, height: 65_500), .tooLarge),
        Case("wide", HandmadeJPEG.header(width: 16_385, height: 1), .tooLarge),
        Case("high", HandmadeJPEG.header(width: 1, height: 16_385), .tooLarge),
        Case("many pixels", HandmadeJPEG.header(width: 8_192, height: 4_097), .tooLarge),
        Case("65,535", HandmadeJPEG.header(width: 65_535, height: 1), .decodeFailed),
        Case("12 bit", HandmadeJPEG.header(width: 8, height: 8, precision: 12), .decodeFailed),
        Case("lossless", HandmadeJPEG.header(width: 8, height: 8, frame: 0xC3), .decodeFailed),
        Case("sampling 0x0", HandmadeJPEG.header(width: 8, height: 8, components: [(1, 0)]), .decodeFailed),
        Case(
            "odd sampling",
            HandmadeJPEG.header(width: 8, height: 8, components: [(1, 0x33), (2, 0x12), (3, 0x21)]),
            .decodeFailed
        ),
        Case("CMYK", HandmadeJPEG.header(width: 8, height: 8, components: (1...4).map { ($0, 0x11) }), .unsupported),
        Case(
            "YCCK",
            HandmadeJPEG.header(width: 8, height: 8, components: (1...4).map { ($0, 0x11) }, adobeTransform: 2),
            .unsupported
        ),
        Case("no quantization", HandmadeJPEG.repeating(0xDB, times: 0, in: good), .decodeFailed),
        Case("zeros for data", Array(good.prefix(700)) + [UInt8](repeating: 0, count: 400), .truncated, .corrupt),
        Case("two frame headers", HandmadeJPEG.repeating(0xC0, times: 2, in: good), .decodeFailed),
    ]

    @Test(arguments: cases)
    func isATypedErrorAndAllocatesNothingItNeedNot(_ hostile: Case) throws {
        for format in [PixelFormat.bgra, .gray, .i420, .nv12] {
            let pool = PixelBufferPool()
            let decoder = JPEGDecoder(pool: pool)
            var thrown: TurboJPEGError?
            do throws(TurboJPEGError) {
                _ = try decoder.decode(bytes: hostile.bytes, as: format)
            } catch {
                thrown = error
            }
            let error = try #require(thrown)
            #expect(hostile.codes.contains(error.code), "\(error)")
            #expect(!error.message.isEmpty && error.description.contains(error.code.name))
            if error.code == .decodeFailed || error.code == .truncated || error.code == .corrupt {
                #expect(error.libraryMessage?.isEmpty == false)
            } else {
                #expect(error.libraryMessage == nil)
                #expect(pool.allocatedCount == 0)
            }
            #expect(error.isWarning == [.truncated, .corrupt].contains(error.code))

            // Whatever it was, it has no effect on the next picture.
            let after = try decoder.decode(bytes: Self.good, as: format)
            #expect(try after.hasSamePixels(as: JPEGDecoder().decode(bytes: Self.good, as: format)))
        }
    }

    @Test func everyPrefixIsAnError() throws {
        let decoder = JPEGDecoder()
        var codes: Set<TurboJPEGError.Code> = []
        for count in 0..<Self.good.count {
            let prefix = Array(Self.good.prefix(count))
            let code = errorCode { () throws(TurboJPEGError) in _ = try decoder.decode(bytes: prefix, as: .i420) }
            codes.insert(try #require(code, "\(count) bytes"))
        }
        #expect(codes == [.notJPEG, .truncated, .decodeFailed])
    }

    @Test func bytesAfterTheEndAreIgnored() throws {
        let expected = try JPEGDecoder().decode(bytes: Self.good, as: .bgra)
        for tail in [[UInt8](repeating: 0, count: 10_240), [0xFF], Self.good] {
            #expect(try JPEGDecoder().decode(bytes: Self.good + tail, as: .bgra).hasSamePixels(as: expected))
        }
    }

    @Test func missingHuffmanTablesAreTheStandardOnes() throws {
        // As in Motion JPEG, and as libjpeg-turbo has it since 2.0.
        let bare = HandmadeJPEG.repeating(0xC4, times: 0, in: Self.good)
        #expect(bare.count < Self.good.count)
        let expected = try JPEGDecoder().decode(bytes: Self.good, as: .bgra)
        #expect(try JPEGDecoder().decode(bytes: bare, as: .bgra).hasSamePixels(as: expected))
    }

    @Test(arguments: [false, true])
    func anErrorAfterAWarningIsNotTolerated(isInHeader: Bool) throws {
        var decoder = JPEGDecoder()
        decoder.stopOnWarning = false
        let jpeg = try ReferenceTool.cjpeg.run(["-progressive"], on: testPicture(75, 51).ppm())
        let scan = try #require(jpeg.firstIndex(ofMarker: 0xDA, from: 2))
        let place = try isInHeader ? scan : #require(jpeg.firstIndex(ofMarker: 0xDA, from: scan + 2))
        // Bytes between two segments are a warning; the marker that follows them is an error. The library's code says
        // warning for both, and no pixel was written.
        let warned = Array(jpeg[..<place]) + [0, 0, 0] + jpeg[place...]
        let failing = Array(jpeg[..<place]) + [0, 0, 0] + HandmadeJPEG.segment(0xCC, [0x55, 1, 2]) + jpeg[place...]
        let strict = errorCode { () throws(TurboJPEGError) in _ = try JPEGDecoder().decode(bytes: warned, as: .bgra) }
        #expect(strict == .corrupt)
        for format in PixelFormat.allCases {
            _ = try decoder.decode(bytes: warned, as: format)
            var thrown: TurboJPEGError?
            do throws(TurboJPEGError) { _ = try decoder.decode(bytes: failing, as: format) } catch { thrown = error }
            #expect(thrown?.code == .decodeFailed)
            #expect(thrown?.isWarning == false)
        }
    }

    @Test func damageCanBeTolerated() throws {
        var decoder = JPEGDecoder()
        decoder.stopOnWarning = false
        let cut = Array(Self.good.prefix(Self.good.count * 2 / 3))
        let expected = try JPEGDecoder().decode(bytes: Self.good, as: .bgra)
        for format in PixelFormat.allCases {
            let decoded = try decoder.decode(bytes: cut, as: format)
            #expect((decoded.width, decoded.height) == (75, 51))
        }
        #expect(try decoder.decode(bytes: cut, as: .bgra).row(0) == expected.row(0))
    }

    @Test(arguments: [
        (10, Int.max, 10, 10, true), (9, .max, 10, 1, false), (.max, 100, 10, 10, true), (.max, 99, 10, 10, false),
    ])
    func limitsAreWhatTheySay(dimension: Int, pixels: Int, width: Int, height: Int, isAccepted: Bool) throws {
        var decoder = JPEGDecoder()
        decoder.maximumDimension = dimension
        decoder.maximumPixels = pixels
        let jpeg = try JPEGEncoder().encode(testPicture(width, height))
        let code = errorCode { () throws(TurboJPEGError) in _ = try decoder.decode(bytes: jpeg, as: .rgb) }
        #expect(code == (isAccepted ? nil : .tooLarge))
        let double = try #require(ScalingFactor(parsing: "2"))
        let scaled = errorCode { () throws(TurboJPEGError) in
            _ = try decoder.decode(bytes: jpeg, as: .rgb, scale: double)
        }
        #expect(scaled == .tooLarge)
    }

    @Test func changedBytesNeverTrap() throws {
        let seed = UInt64.random(in: 0...UInt64.max)
        var generator = SplitMix(state: seed)
        let decoder = JPEGDecoder()
        let formats: [PixelFormat] = [.bgra, .i420, .nv12, .gray]
        var failures = 0
        for round in 0..<2_000 {
            var bytes = Self.good
            for _ in 0..<Int.random(in: 1...4, using: &generator) {
                bytes[Int.random(in: 0..<bytes.count, using: &generator)] = UInt8.random(in: 0...255, using: &generator)
            }
            let code = errorCode { () throws(TurboJPEGError) in
                _ = try decoder.decode(bytes: bytes, as: formats[round % 4], scale: round % 3 == 0 ? .half : .full)
            }
            failures += code == nil ? 0 : 1
        }
        #expect(failures > 100, "seed \(seed): changes have to be noticed at times")
        let expected = try JPEGDecoder().decode(bytes: Self.good, as: .bgra)
        #expect(try decoder.decode(bytes: Self.good, as: .bgra).hasSamePixels(as: expected))
    }
}
