import TestDescriptions
import TestSupport
import Testing
import TurboJPEG

/// The size that a JPEG states, for programs that pass it on without decoding it.
@Suite(.tags(.computes)) struct JPEGSizeTests {
    /// The markers of all frame headers, and of what precedes a hierarchy of them.
    static let frames: [UInt8] = (0xC0...0xCF).filter { ![0xC4, 0xC8, 0xCC].contains($0) } + [0xDE]

    @Test(arguments: frames)
    func `the size of a JPEG of any kind is found`(frame: UInt8) throws {
        for precision in [8, 12, 16] as [UInt8] {
            let jpeg = HandmadeJPEG.header(width: 65_535, height: 1_234, precision: precision, frame: frame)
            #expect(try JPEGHeader.size(of: jpeg.span) == (65_535, 1_234))
        }
        let four = HandmadeJPEG.header(width: 7, height: 9, components: (1...4).map { ($0, 0x11) }, frame: frame)
        #expect(try JPEGHeader.size(of: four.span) == (7, 9))
    }

    @Test func `a height that follows the image is found`() throws {
        let header = HandmadeJPEG.header(width: 70, height: 0)
        let jpeg = header + [1, 2, 0xFF, 0, 0xFF, 0xD0, 3] + HandmadeJPEG.segment(0xDC, [1, 2]) + [0xFF, 0xD9]
        #expect(try JPEGHeader.size(of: jpeg.span) == (70, 258))
    }

    @Test func `the size is that of the image, not that of a thumbnail in its metadata`() throws {
        let thumbnail = HandmadeJPEG.segment(0xE1, HandmadeJPEG.plain(width: 8, height: 8))
        let jpeg = HandmadeJPEG.inserting(thumbnail, before: 0xDB, in: HostileJPEG.good)
        #expect(try JPEGHeader.size(of: jpeg.span) == (75, 51))
    }

    static let sizeless: [(bytes: [UInt8], code: TurboJPEGError.Code)] = [
        ([], .notJPEG), ([0xFF], .notJPEG), (Array("not a JPEG".utf8), .notJPEG), ([0xFF, 0xD8], .noPicture),
        ([0xFF, 0xD8, 0xFF, 0xD9], .noPicture), ([0xFF, 0xD8, 0xFF], .noPicture),
        ([0xFF, 0xD8, 0xFF, 0xC0], .noPicture),
        ([0xFF, 0xD8, 0xFF, 0xC0, 0, 8, 8, 0, 1], .noPicture), ([0xFF, 0xD8, 0xFF, 0xC0, 0, 4, 8, 0], .noPicture),
        (HandmadeJPEG.header(width: 0, height: 8), .noPicture), (HandmadeJPEG.header(width: 8, height: 0), .noPicture),
        ([0xFF, 0xD8] + [UInt8](repeating: 0, count: 500), .noPicture),
        ([0xFF, 0xD8] + [UInt8](repeating: 0xFF, count: 500), .noPicture),
    ]

    @Test(arguments: sizeless.indices)
    func `bytes without a size are an error`(number: Int) {
        let (bytes, code) = Self.sizeless[number]
        let found = errorCode { () throws(TurboJPEGError) in _ = try JPEGHeader.size(of: bytes.span) }
        #expect(found == code)
    }

    @Test func `of every prefix of a JPEG the size is found or missing`() throws {
        let good = HostileJPEG.good
        let frame = try #require(good.firstIndex(ofMarker: 0xC0, from: 2))
        for count in 0...good.count {
            let prefix = Array(good.prefix(count))
            let size = try? JPEGHeader.size(of: prefix.span)
            #expect((size != nil) == (count >= frame + 19), "\(count)")
        }
    }

    @Test func `zeros at the end are padding, and no others`() {
        var random = SplitMix(seed: 11)
        for count in 0..<200 {
            for zeros in [0, 1, 7, 8, 31, 32, 33, 63, 64, 100, 255, 256, 257, 600] {
                var bytes = (0..<count).map { _ in UInt8.random(in: 0...3, using: &random) }
                if !bytes.isEmpty { bytes[count - 1] = UInt8.random(in: 1...255, using: &random) }
                let padded = bytes + [UInt8](repeating: 0, count: zeros)
                #expect(padded.span.countWithoutPadding == count)
            }
        }
        for start in 0..<600 {
            var bytes = [UInt8](repeating: 0, count: 700)
            bytes[start] = 0x80
            #expect(bytes.span.countWithoutPadding == start + 1)
            #expect(bytes.span.extracting((start + 1)...).countWithoutPadding == 0)
        }
    }
}
