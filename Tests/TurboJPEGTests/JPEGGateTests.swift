import Foundation
import TestDescriptions
import TestSupport
import Testing
import TurboJPEG

/// JPEGs as nobody should send them.
@Suite(.tags(.computes), .timeLimit(.minutes(15))) struct JPEGGateTests {
    static let formats: [PixelFormat] = [.bgra, .gray, .i420, .nv12]

    @Test(arguments: HostileJPEG.refusedByGate)
    func `a hostile JPEG is refused before the library is called or memory taken`(_ hostile: HostileJPEG) throws {
        for format in Self.formats {
            let pool = PixelBuffer.Pool()
            let error = try #require(Self.error(of: hostile.bytes, as: format, JPEGDecoder(pool: pool)))
            #expect(error.code == hostile.code, "\(error)")
            #expect(error.libraryMessage == nil)
            #expect(!error.message.isEmpty && error.description.hasPrefix(error.message))
            #expect(pool.allocatedCount == 0)
        }
    }

    @Test(arguments: HostileJPEG.refusedByLibrary)
    func `a JPEG of which only the data is wrong is a typed error`(_ hostile: HostileJPEG) throws {
        for format in Self.formats {
            let error = try #require(Self.error(of: hostile.bytes, as: format))
            #expect([hostile.code, .truncated].contains(error.code), "\(error)")
            #expect(error.libraryMessage?.isEmpty == false)
        }
    }

    @Test(arguments: HostileJPEG.all)
    func `a hostile JPEG leaves nothing behind for the next image`(_ hostile: HostileJPEG) throws {
        let decoder = JPEGDecoder()
        for format in Self.formats {
            let before = try decoder.decode(bytes: HostileJPEG.good, as: format)
            let first = try #require(Self.error(of: hostile.bytes, as: format, decoder))
            let after = try decoder.decode(bytes: HostileJPEG.good, as: format)
            let second = try #require(Self.error(of: hostile.bytes, as: format, decoder))
            #expect(after.hasSamePixels(as: before))
            #expect(first == second)
        }
    }

    @Test(arguments: HostileJPEG.all)
    func `a hostile JPEG is not transformed either`(_ hostile: HostileJPEG) {
        let code = errorCode { () throws(TurboJPEGError) in _ = try JPEGTransform.rotate90.apply(to: hostile.bytes.span)
        }
        #expect(code == hostile.code || code == .truncated || code == .transformFailed)
    }

    @Test func `every prefix of a JPEG is an error`() throws {
        let decoder = JPEGDecoder()
        var codes: Set<TurboJPEGError.Code> = []
        for count in 0..<HostileJPEG.good.count {
            let prefix = Array(HostileJPEG.good.prefix(count))
            let code = errorCode { () throws(TurboJPEGError) in _ = try decoder.decode(bytes: prefix, as: .i420) }
            codes.insert(try #require(code, "\(count) bytes"))
        }
        #expect(codes == [.notJPEG, .truncated])
    }

    @Test(arguments: [
        (10, Int.max, 10, 10, true), (9, .max, 10, 1, false), (.max, 100, 10, 10, true), (.max, 99, 10, 10, false),
    ])
    func `limits hold exactly`(dimension: Int, pixels: Int, width: Int, height: Int, isAccepted: Bool) throws {
        var decoder = JPEGDecoder()
        decoder.limits.maximumDimension = dimension
        decoder.limits.maximumPixels = pixels
        let jpeg = try JPEGEncoder().encode(testImage(width, height))
        let code = errorCode { () throws(TurboJPEGError) in _ = try decoder.decode(bytes: jpeg, as: .rgb) }
        #expect(code == (isAccepted ? nil : .tooLarge))
        let double = try #require(JPEGDecoder.ScalingFactor.allSupported.first { $0.description == "2/1" })
        let scaled = errorCode { () throws(TurboJPEGError) in
            _ = try decoder.decode(bytes: jpeg, as: .rgb, scale: double)
        }
        #expect(scaled == .tooLarge)
    }

    @Test func `a plain image in the fewest possible bytes is decoded`() throws {
        for (width, height) in [(8, 8), (80, 80), (81, 7), (1000, 3)] {
            let image = try JPEGDecoder().decode(bytes: HandmadeJPEG.plain(width: width, height: height), as: .gray)
            #expect((image.width, image.height) == (width, height))
        }
    }

    @Test(
        arguments: [(10, 10, true), (11, 10, false), (490, 100, false), (5_000, 100, false)]
    )
    func `progressive scans are limited in number`(scans: Int, limit: Int, isAccepted: Bool) {
        var decoder = JPEGDecoder()
        decoder.limits.maximumProgressiveScans = limit
        let error = Self.error(of: HostileJPEG.progressive(scans: scans), as: .gray, decoder)
        // What the library says of such scans is its own business: it is asked.
        #expect((error?.code == .tooManyScans) == !isAccepted)
    }

    @Test func `an image whose components have scans of their own is decoded`() throws {
        let script = "0;\n1;\n2;\n"
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("scans-\(UUID().uuidString)")
        try Data(script.utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let jpeg = try ReferenceTool.cjpeg.run(["-scans", file.path], on: testImage(75, 51).ppm())
        let plain = try ReferenceTool.cjpeg.run([], on: testImage(75, 51).ppm())
        let expected = try JPEGDecoder().decode(bytes: plain, as: .bgra)
        #expect(try JPEGDecoder().decode(bytes: jpeg, as: .bgra).hasSamePixels(as: expected))
    }

    private static func refusal(of jpeg: [UInt8], by decoder: JPEGDecoder) -> TurboJPEGError.Code? {
        errorCode { () throws(TurboJPEGError) in _ = try decoder.decode(bytes: jpeg, as: .bgra) }
    }

    /// JPEGs that common programs write, and that others of this kind decode.
    @Test(arguments: ChromaSubsampling.allCases) func `a JPEG without Huffman tables is decoded if allowed`(
        subsampling: ChromaSubsampling
    ) throws {
        // The library encodes with the typical tables, so that leaving them out changes nothing.
        let jpeg = try JPEGEncoder(quality: 80, subsampling: subsampling).encode(testImage(75, 51))
        let bare = HandmadeJPEG.repeating(0xC4, times: 0, in: jpeg)
        #expect(bare.count < jpeg.count - 20)
        #expect(Self.refusal(of: bare, by: JPEGDecoder()) == .missingTable)
        var decoder = JPEGDecoder()
        decoder.limits.acceptsMissingHuffmanTables = true
        let expected = try decoder.decode(bytes: jpeg, as: .bgra)
        #expect(try decoder.decode(bytes: bare, as: .bgra).hasSamePixels(as: expected))
        #expect(try JPEGHeader(inspecting: bare.span).subsampling == subsampling)
        // Table 2 is none of the typical ones.
        var other = bare
        if let scan = other.firstIndex(ofMarker: 0xDA, from: 2) { other[scan + 6] = 0x22 }
        #expect(Self.refusal(of: other, by: decoder) == .missingTable)
    }

    @Test(arguments: [
        HandmadeJPEG.segment(0xC4, []), HandmadeJPEG.segment(0xDB, []), [0xFF, 0x01], [0xFF, 0xFF, 0xFF, 0x01],
    ])
    func `meaningless bytes before a segment are skipped`(bytes: [UInt8]) throws {
        let jpeg = try JPEGEncoder(quality: 80).encode(testImage(75, 51))
        let expected = try JPEGDecoder().decode(bytes: jpeg, as: .bgra)
        for marker in [0xDB, 0xC0, 0xC4, 0xDA] as [UInt8] {
            let longer = HandmadeJPEG.inserting(bytes, before: marker, in: jpeg)
            #expect(longer.count == jpeg.count + bytes.count)
            #expect(try JPEGDecoder().decode(bytes: longer, as: .bgra).hasSamePixels(as: expected))
        }
    }

    @Test(arguments: [0x42, 0x14, 0x31, 0x24] as [UInt8])
    func `undefined sampling factors are unsupported`(sampling: UInt8) {
        let header = HandmadeJPEG.header(width: 64, height: 64, components: [(1, sampling), (2, 0x11), (3, 0x11)])
        let jpeg = header + [UInt8](repeating: 0, count: 400) + [0xFF, 0xD9]
        let decoding = #expect(throws: TurboJPEGError.self) { try JPEGDecoder().decode(bytes: jpeg, as: .bgra) }
        let inspecting = #expect(throws: TurboJPEGError.self) { try JPEGHeader(inspecting: jpeg.span) }
        #expect(decoding?.code == .unsupported && inspecting?.code == .unsupported)
    }

    @Test func `an orientation in the JPEG is ignored`() throws {
        // Big-endian TIFF with a single entry: orientation 6.
        let exif =
            Array("Exif\0\0MM\0*".utf8) + [0, 0, 0, 8, 0, 1, 0x01, 0x12, 0, 3, 0, 0, 0, 1, 0, 6, 0, 0, 0, 0, 0, 0]
        let jpeg = HandmadeJPEG.inserting(HandmadeJPEG.segment(0xE1, exif), before: 0xDB, in: HostileJPEG.good)
        #expect(jpeg.count > HostileJPEG.good.count)
        let expected = try JPEGDecoder().decode(bytes: HostileJPEG.good, as: .bgra)
        #expect(try JPEGDecoder().decode(bytes: jpeg, as: .bgra).hasSamePixels(as: expected))
    }

    @Test func `zeros after the end of a JPEG are padding`() throws {
        let expected = try JPEGDecoder().decode(bytes: HostileJPEG.good, as: .bgra)
        for count in [1, 1_000, 10_240] {
            let padded = HostileJPEG.good + [UInt8](repeating: 0, count: count)
            #expect(try JPEGDecoder().decode(bytes: padded, as: .bgra).hasSamePixels(as: expected))
        }
        var decoder = JPEGDecoder()
        decoder.limits.acceptsTrailingData = true
        let followed = HostileJPEG.good + HostileJPEG.good
        #expect(try decoder.decode(bytes: followed, as: .bgra).hasSamePixels(as: expected))
    }

    @Test(arguments: [true, false])
    func `many segments without meaning may come before the image`(isComments: Bool) throws {
        let comment = HandmadeJPEG.segment(0xFE, [UInt8](repeating: 0xFF, count: 65_533))
        let much = isComments ? (0..<128).flatMap { _ in comment } : [UInt8](repeating: 0xFF, count: 8 << 20)
        let jpeg = HandmadeJPEG.inserting(much, before: 0xDB, in: HostileJPEG.good)
        #expect(jpeg.count > 8 << 20)
        let expected = try JPEGDecoder().decode(bytes: HostileJPEG.good, as: .bgra)
        #expect(try JPEGDecoder().decode(bytes: jpeg, as: .bgra).hasSamePixels(as: expected))
    }

    #if os(Linux)
        @Test func `an image that does not fit into memory is an error, and the next one is decoded`() async {
            await #expect(processExitsWith: .success) {
                // Such small files may ask for so much: 128 kB of JPEG for 64 MB of pixels.
                let large = HandmadeJPEG.plain(width: 4096, height: 4096)
                let pool = PixelBuffer.Pool()
                let decoder = JPEGDecoder(pool: pool)
                _ = try decoder.decode(bytes: HostileJPEG.good, as: .bgra)
                var before = rlimit()
                _ = unsafe getrlimit(__rlimit_resource_t(RLIMIT_AS.rawValue), &before)
                let used = try #require(Self.addressSpace())
                var limit = rlimit(rlim_cur: used + 32 << 20, rlim_max: before.rlim_max)
                _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_AS.rawValue), &limit)
                let code = Self.error(of: large, as: .bgra, decoder)?.code
                let good = Self.error(of: HostileJPEG.good, as: .bgra, decoder)
                _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_AS.rawValue), &before)
                #expect(code == .allocationFailed)
                #expect(good == nil)
                #expect(try decoder.decode(bytes: large, as: .bgra).width == 4096)
            }
        }

        /// The bytes of address space that this process has.
        private static func addressSpace() -> UInt? {
            let pages = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8))?.split(separator: " ").first
            return pages.flatMap { UInt($0) }.map { $0 * UInt(getpagesize()) }
        }
    #endif

    /// The error; nil if the JPEG is decoded.
    static func error(
        of jpeg: [UInt8],
        as format: PixelFormat,
        _ decoder: JPEGDecoder = JPEGDecoder()
    ) -> TurboJPEGError? {
        do throws(TurboJPEGError) {
            _ = try decoder.decode(bytes: jpeg, as: format)
            return nil
        } catch {
            return error
        }
    }
}
