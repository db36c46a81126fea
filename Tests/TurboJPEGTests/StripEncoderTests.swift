import TestDescriptions
import TestSupport
import Testing
import TurboJPEG

@Suite(.tags(.computes)) struct StripEncoderTests {
    struct Case: Sendable, CustomTestStringConvertible {
        var format: PixelFormat
        var subsampling: ChromaSubsampling
        var size: (width: Int, height: Int)
        /// Rows of MCUs.
        var height: Int
        var testDescription: String {
            "\(format.rawValue) as \(subsampling.name), \(size.width)x\(size.height), \(height)"
        }
    }

    static let heights: [Int] = [1, 2, 3, 1]
    /// The last one has enough pixels for several threads.
    static let stripSizes = [(1, 1), (17, 33), (100, 80), (131, 97), (200, 149), (300, 201)]

    static let cases = PixelFormat.allCases.enumerated().flatMap { formatNumber, format in
        ChromaSubsampling.allCases.enumerated().map { number, subsampling in
            Case(
                format: format,
                subsampling: subsampling,
                size: stripSizes[(formatNumber + number) % stripSizes.count],
                height: heights[(formatNumber + 2 * number) % heights.count]
            )
        }
    }

    /// 50 frames of each of 60 sequences: what is put together has the pixels of what was encoded as a whole.
    @Test(arguments: cases)
    func `an incremental encode equals a whole one`(_ test: Case) throws {
        let seed = UInt64(test.size.width * 1_000 + test.size.height)
        var scene = try EditedImage(test.size.width, test.size.height, as: test.format, seed: seed)
        let encoder = JPEGEncoder(quality: 60 + test.size.width % 40, subsampling: test.subsampling)
        let strips = StripEncoder(mcuRows: test.height)
        let planes: PixelFormat = test.subsampling == .gray || test.format == .gray ? .gray : .i420
        var before: PixelBuffer?
        for frame in 0..<50 {
            let (jpeg, changes) = try strips.encode(scene.image, with: encoder)
            let whole = try encoder.encode(scene.image)
            let decoder = JPEGDecoder()
            for format in [.bgra, planes] {
                let joined = try decoder.decode(bytes: jpeg, as: format)
                let isSame = try joined.hasSamePixels(as: decoder.decode(bytes: whole, as: format))
                #expect(isSame, "frame \(frame), seed \(seed)")
            }
            if changes.stripCount == 1 { #expect(jpeg == whole) }
            let image = scene.image
            #expect(image.rows(thatDifferFrom: before).isSubset(of: changes.rows), "frame \(frame), seed \(seed)")
            before = image
            try scene.edit()
        }
    }

    /// As with a blinking cursor.
    ///
    /// After a few changes in a row only some rows are looked at first, and most are not among
    /// them: what is known of the rest must not be that of an image before the last.
    @Test(arguments: 0..<49)
    func `two images that alternate and differ in one row are both encoded`(row: Int) throws {
        let first = try testImage(40, 49, as: .bgra)
        var second = first
        try second.withMutableRow(row) { bytes in
            for index in 0..<bytes.count { bytes[index] ^= 0xFF }
        }
        for height in Self.heights.dropLast() {
            let strips = StripEncoder(mcuRows: height)
            for frame in 0..<12 {
                // Both, and now and then one of them twice.
                let image = frame % 2 == 0 && frame != 8 ? first : second
                let jpeg = try strips.encode(image, with: JPEGEncoder()).jpeg
                let whole = try JPEGEncoder().encode(image)
                let expected = try JPEGDecoder().decode(bytes: whole, as: .bgra)
                let isSame = try JPEGDecoder().decode(bytes: jpeg, as: .bgra).hasSamePixels(as: expected)
                #expect(isSame, "frame \(frame), strips of \(height)")
            }
        }
    }

    @Test func `only what has changed is encoded`() throws {
        var image = try testImage(160, 320, as: .bgra)
        let strips = StripEncoder()
        let encoder = JPEGEncoder()
        let first = try strips.encode(image, with: encoder)
        #expect(first.changes == StripChanges.all(rows: 320, strips: 20))

        let second = try strips.encode(image, with: encoder)
        #expect(second.jpeg == first.jpeg)
        #expect(second.changes.rows.isEmpty && second.changes.codedCount == 0)

        for row in [100, 300] { try image.withMutableRow(row) { $0[5] ^= 0xFF } }
        let third = try strips.encode(image, with: encoder).changes
        #expect(third.rows == [96..<112, 288..<304] && third.codedCount == 2)
    }

    /// A change of anything that strips depend on encodes all of them again.
    @Test(arguments: [
        JPEGEncoder(quality: 81), JPEGEncoder(subsampling: .yuv444), JPEGEncoder(subsampling: .gray),
    ])
    func `other options encode every strip again`(_ other: JPEGEncoder) throws {
        let image = try testImage(160, 320, as: .bgra)
        let strips = StripEncoder()
        for encoder in [JPEGEncoder(), other, JPEGEncoder()] {
            let changes = try strips.encode(image, with: encoder).changes
            #expect(changes.codedCount == changes.stripCount)
        }
        for changed in try [testImage(160, 319, as: .bgra), testImage(159, 320, as: .bgra), testImage(160, 320)] {
            let changes = try strips.encode(changed, with: JPEGEncoder()).changes
            #expect(changes.codedCount == changes.stripCount)
        }
        strips.forget()
        let changes = try strips.encode(image, with: JPEGEncoder()).changes
        #expect(changes.codedCount == changes.stripCount)
    }

    /// A strip that has kept changing is taken for changed once more, and then found to be still.
    @Test func `a strip settles when its changes end`() throws {
        var image = try testImage(160, 64, as: .bgra)
        let strips = StripEncoder()
        for frame in 0..<8 {
            for row in 0..<64 { try image.withMutableRow(row) { $0[0] = UInt8(frame) } }
            #expect(try strips.encode(image, with: JPEGEncoder()).changes.codedCount == 4)
        }
        let counts = try (0..<3).map { _ in try strips.encode(image, with: JPEGEncoder()).changes.codedCount }
        #expect(counts == [4, 0, 0])
    }

    /// A strip that ends within an MCU is compressed apart from the others, and those with few rows of MCUs are not.
    @Test(arguments: [PixelFormat.bgra, .i420, .nv12], [1, 2, 3, 7])
    func `the bytes depend neither on the number of threads nor on retained strips`(
        format: PixelFormat,
        mcuRows: Int
    ) throws {
        var scene = try EditedImage(100, 16 * 23 + 9, as: format, seed: 11)
        let kept = StripEncoder(mcuRows: mcuRows, maximumThreads: 1)
        let encoder = JPEGEncoder(quality: 70)
        for _ in 0..<20 {
            let jpeg = try kept.encode(scene.image, with: encoder).jpeg
            for threads in [1, 3] {
                let fresh = StripEncoder(mcuRows: mcuRows, maximumThreads: threads)
                #expect(try fresh.encode(scene.image, with: encoder).jpeg == jpeg)
            }
            try scene.edit()
        }
    }

    @Test func `restart intervals fit into sixteen bits`() throws {
        let image = try solidImage(9_000, 100, red: 10, green: 90, blue: 200)
        let encoder = JPEGEncoder(subsampling: .gray)
        let (jpeg, changes) = try StripEncoder(mcuRows: 1_000).encode(image, with: encoder)
        #expect(changes.stripCount == 1)
        let wide = try solidImage(65_500, 70, red: 10, green: 90, blue: 200)
        let strips = try StripEncoder(mcuRows: 1_000).encode(wide, with: encoder)
        #expect(strips.changes.stripCount == 2)
        #expect(try JPEGHeader(inspecting: strips.jpeg.span).height == 70)
        #expect(try jpeg == encoder.encode(image))
    }

    @Test func `errors are those of the encoder`() throws {
        let image = try testImage(160, 320, as: .bgra)
        let strips = StripEncoder()
        #expect(
            errorCode { () throws(TurboJPEGError) in
                _ = try strips.encode(image, with: JPEGEncoder(quality: 0))
            } == .invalidQuality
        )
        var bytes: [UInt8]?
        let code = errorCode { () throws(TurboJPEGError) in
            do {
                bytes = try [UInt8](capacity: 100) { output in
                    try strips.encode(image, with: JPEGEncoder(), into: &output)
                }
            } catch let error as TurboJPEGError { throw error } catch {}
        }
        #expect(code == .outputTooSmall && bytes == nil)
        #expect(try strips.encode(image, with: JPEGEncoder()).jpeg.count > 1_000)
    }

    /// Other decoders see the same pixels as well.
    @Test(arguments: ChromaSubsampling.allCases)
    func `other decoders see the same pixels`(_ subsampling: ChromaSubsampling) throws {
        var scene = try EditedImage(203, 149, as: .bgra, seed: 7)
        let strips = StripEncoder(mcuRows: 2)
        let encoder = JPEGEncoder(subsampling: subsampling)
        _ = try strips.encode(scene.image, with: encoder)
        try scene.edit()
        let joined = try strips.encode(scene.image, with: encoder).jpeg
        let whole = try encoder.encode(scene.image)
        #expect(try ReferenceTool.djpeg.run([], on: joined) == ReferenceTool.djpeg.run([], on: whole))
        for decoder in ForeignDecoder.allCases where decoder.isInstalled {
            #expect(try decoder.decode(joined) == decoder.decode(whole), "\(decoder)")
        }
    }
}

extension StripChanges {
    static func all(rows: Int, strips: Int) -> StripChanges {
        StripChanges(rows: [0..<rows], stripCount: strips, codedCount: strips, hashedCount: strips)
    }
}
