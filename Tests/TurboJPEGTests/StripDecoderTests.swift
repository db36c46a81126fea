import Dispatch
import Synchronization
import TestDescriptions
import TestSupport
import Testing
import TurboJPEG

@Suite(.tags(.computes)) struct StripDecoderTests {
    struct Case: Sendable, CustomTestStringConvertible {
        var subsampling: ChromaSubsampling
        var format: PixelFormat
        var size: (width: Int, height: Int)
        /// Rows of MCUs.
        var height: Int
        var threads: Int
        var testDescription: String {
            "\(subsampling.name) to \(format.rawValue), \(size.width)x\(size.height), \(height), \(threads) threads"
        }
    }

    static let heights: [Int] = [1, 2, 1, 3, 1]
    static let stripSizes = [(100, 80), (131, 97), (200, 149), (64, 300), (17, 200), (300, 201)]

    static let cases = ChromaSubsampling.allCases.enumerated().flatMap { number, subsampling in
        PixelFormat.allCases.enumerated().map { formatNumber, format in
            Case(
                subsampling: subsampling,
                format: format,
                size: stripSizes[(formatNumber + number) % stripSizes.count],
                height: heights[(formatNumber + 2 * number) % heights.count],
                threads: (formatNumber + number) % 3 + 1
            )
        }
    }

    /// 60 frames of each of 60 sequences: the pixels are those of a whole decode, what was handed out stays as it was, and rows
    /// that are said to be unchanged are.
    @Test(arguments: cases)
    func `an incremental decode equals a whole one`(_ test: Case) throws {
        let seed = UInt64(test.size.width * 1_000 + test.size.height)
        var scene = try EditedImage(test.size.width, test.size.height, as: .bgra, seed: seed)
        let encoder = JPEGEncoder(quality: 85, subsampling: test.subsampling)
        let strips = StripEncoder(mcuRows: test.height)
        let decoder = JPEGDecoder()
        let incremental = StripDecoder(decoder: decoder, maximumThreads: test.threads)
        var random = SplitMix(seed: seed)
        var before: PixelBuffer?
        var held: [(image: PixelBuffer, whole: PixelBuffer)] = []
        var saved = 0
        for frame in 0..<60 {
            let jpeg = try strips.encode(scene.image, with: encoder).jpeg
            let whole = try decoder.decode(bytes: jpeg, as: test.format)
            let (image, changes) = try incremental.decode(jpeg.span, as: test.format)
            #expect(image.hasSamePixels(as: whole), "frame \(frame), seed \(seed)")
            #expect(whole.rows(thatDifferFrom: before).isSubset(of: changes.rows), "frame \(frame), seed \(seed)")
            for (image, whole) in held {
                #expect(image.hasSamePixels(as: whole), "held at frame \(frame), seed \(seed)")
            }
            if changes.codedCount < changes.stripCount { saved += 1 }
            before = whole
            held.append((image, whole))
            while held.count > Int.random(in: 0...3, using: &random) { held.removeFirst() }
            try scene.edit()
        }
        #expect(saved > 0)
    }

    @Test func `only what has changed is decoded`() throws {
        var image = try testImage(160, 640, as: .bgra)
        let strips = StripEncoder()
        let decoder = StripDecoder(maximumThreads: 2)
        func decode() throws -> StripChanges {
            let jpeg = try strips.encode(image, with: JPEGEncoder()).jpeg
            return try decoder.decode(jpeg.span, as: .bgra).changes
        }
        #expect(try decode().rows == [0..<640])
        #expect(try decode() == StripChanges(rows: [], stripCount: 40, codedCount: 0))
        try image.withMutableRow(100) { $0[5] ^= 0xFF }
        #expect(try decode() == StripChanges(rows: [95..<113], stripCount: 40, codedCount: 3))
        for row in [3, 639] { try image.withMutableRow(row) { $0[5] ^= 0xFF } }
        #expect(try decode() == StripChanges(rows: [0..<17, 623..<640], stripCount: 40, codedCount: 4))
    }

    /// Memory of two images is enough for a consumer that holds the last one, and of one for those that hold none.
    @Test(arguments: [(0, 1), (1, 2)])
    func `memory of few images is kept`(holding: Int, allocated: Int) throws {
        var scene = try EditedImage(160, 320, as: .bgra, seed: 3)
        let pool = PixelBuffer.Pool()
        let decoder = StripDecoder(decoder: JPEGDecoder(pool: pool))
        let strips = StripEncoder()
        var held: [PixelBuffer] = []
        for _ in 0..<30 {
            let jpeg = try strips.encode(scene.image, with: JPEGEncoder()).jpeg
            held.append(try decoder.decode(jpeg.span, as: .bgra).image)
            if held.count > holding { held.removeFirst() }
            try scene.edit()
        }
        #expect(pool.allocatedCount <= allocated)
    }

    @Test func `other JPEGs are decoded as a whole`() throws {
        let decoder = StripDecoder()
        let image = try testImage(160, 320, as: .bgra)
        let plain = try JPEGEncoder().encode(image)
        let cut = try StripEncoder().encode(image, with: JPEGEncoder()).jpeg
        let small = try StripEncoder().encode(testImage(64, 64), with: JPEGEncoder()).jpeg
        let oblique = try ReferenceTool.cjpeg.run(["-restart", "7B"], on: image.ppm())
        let restarted = try ReferenceTool.cjpeg.run(["-restart", "1", "-optimize"], on: image.ppm())
        for jpeg in [plain, plain, cut, plain, cut, small, cut, oblique, oblique, restarted, restarted, cut] {
            for format in [PixelFormat.bgra, .i420] {
                let decoded = try decoder.decode(jpeg.span, as: format).image
                let isSame = try decoded.hasSamePixels(as: JPEGDecoder().decode(bytes: jpeg, as: format))
                #expect(isSame)
            }
        }
    }

    /// Damage of all kinds between good frames: the verdict and the pixels are those of a whole decode.
    @Test(arguments: ChromaSubsampling.allCases, [PixelFormat.bgra, .i420, .gray])
    func `damage has the same outcome as in a whole decode`(_ subsampling: ChromaSubsampling, format: PixelFormat)
        throws
    {
        let seed: UInt64 = 0x5EED
        var random = SplitMix(seed: seed)
        var scene = try EditedImage(100, 150, as: .bgra, seed: seed)
        let encoder = JPEGEncoder(subsampling: subsampling)
        let strips = StripEncoder()
        let decoder = StripDecoder(maximumThreads: 2)
        let whole = JPEGDecoder()
        var (good, bad) = (0, 0)
        for frame in 0..<250 {
            if frame % 3 == 0 { try scene.edit() }
            var jpeg = try strips.encode(scene.image, with: encoder).jpeg
            if frame % 2 == 1 { jpeg.damage(using: &random) }
            var (expected, found): (PixelBuffer?, PixelBuffer?)
            let expectedCode = errorCode { () throws(TurboJPEGError) in
                expected = try whole.decode(bytes: jpeg, as: format)
            }
            let foundCode = errorCode { () throws(TurboJPEGError) in
                found = try decoder.decode(jpeg.span, as: format).image
            }
            #expect(foundCode == expectedCode, "frame \(frame), seed \(seed)")
            if let expected, let found {
                good += 1
                #expect(found.hasSamePixels(as: expected), "frame \(frame), seed \(seed)")
            } else {
                bad += 1
            }
        }
        #expect(good > 125 && bad > 10)
    }

    /// JFIF of version 2, of which the library warns.
    private static let oddSegment: [UInt8] = [
        0xFF, 0xE0, 0, 16, 0x4A, 0x46, 0x49, 0x46, 0, 2, 1, 0, 0, 1, 0, 1, 0, 0,
    ]

    /// The part above gives the only row of the second part, which is read to its end all the same.
    @Test func `a part of one row is judged like the whole`() throws {
        let image = try testImage(100, 257, as: .bgra)
        let jpeg = try StripEncoder(mcuRows: 16).encode(image, with: JPEGEncoder()).jpeg
        let place = try #require(jpeg.indices.dropLast().first { jpeg[$0] == 0xFF && jpeg[$0 + 1] == 0xD0 })
        let empty = Array(jpeg[...(place + 1)]) + jpeg.suffix(2)
        let decoder = StripDecoder(maximumThreads: 2)
        let whole = try JPEGDecoder().decode(bytes: jpeg, as: .bgra)
        let (decoded, changes) = try decoder.decode(jpeg.span, as: .bgra)
        #expect(changes.stripCount == 2 && decoded.hasSamePixels(as: whole))
        decoder.forget()
        let cut = Array(jpeg.dropLast(12)) + jpeg.suffix(2)
        let odd = Array(jpeg.dropLast(2)) + Self.oddSegment + jpeg.suffix(2)
        for jpeg in [cut, empty, odd] {
            let expected = errorCode { () throws(TurboJPEGError) in
                _ = try JPEGDecoder().decode(bytes: jpeg, as: .bgra)
            }
            let found = errorCode { () throws(TurboJPEGError) in _ = try decoder.decode(jpeg.span, as: .bgra) }
            #expect(found == expected && found != nil)
        }
    }

    /// The library looks at what follows the image as well.
    @Test func `whatever follows the last strip is judged like the whole`() throws {
        let image = try testImage(100, 150, as: .bgra)
        let jpeg = try StripEncoder().encode(image, with: JPEGEncoder()).jpeg
        // Lenient limits leave the content of such a segment to the library: there is no table 40.
        let odd = Array(jpeg.dropLast(2)) + HandmadeJPEG.segment(0xCC, [40, 0]) + jpeg.suffix(2)
        var whole = JPEGDecoder()
        whole.limits = .lenient
        let decoder = StripDecoder(decoder: whole, maximumThreads: 1)
        for _ in 0..<2 {
            #expect(try decoder.decode(jpeg.span, as: .bgra).changes.stripCount == 10)
            for decode in [
                { _ = try whole.decode(bytes: odd, as: .bgra) },
                { _ = try decoder.decode(odd.span, as: .bgra) },
            ] {
                let error = #expect(throws: TurboJPEGError.self) { try decode() }
                #expect(error?.code == .decodeFailed)
            }
        }
    }

    /// Of the JPEG that is kept, the zeros behind it are only counted.
    @Test func `a JPEG that equals the last one is not decoded again, whatever it is padded with`() throws {
        let jpeg = try StripEncoder().encode(testImage(100, 150, as: .bgra), with: JPEGEncoder()).jpeg
        let decoder = StripDecoder(maximumThreads: 1)
        let image = try decoder.decode(jpeg.span, as: .bgra).image
        func padded(_ end: [UInt8]) -> [UInt8] { jpeg + [UInt8](repeating: 0, count: 300 - end.count) + end }
        for (bytes, codedCount) in [(jpeg, 0), (padded([]), 0), (padded([]), 0), (jpeg, 0)] {
            let (next, changes) = try decoder.decode(bytes.span, as: .bgra)
            #expect(changes.codedCount == codedCount && changes.rows.isEmpty && next.hasSamePixels(as: image))
        }
        _ = try decoder.decode(padded([]).span, as: .bgra)
        // As long as the last one.
        let error = #expect(throws: TurboJPEGError.self) { try decoder.decode(padded([7]).span, as: .bgra) }
        #expect(error?.code == .trailingData)
    }

    /// One decoder under several threads at once.
    @Test func `threads may share a decoder`() async throws {
        let decoder = StripDecoder()
        await withTaskGroup(of: Bool.self) { group in
            for number in 0..<4 {
                group.addTask {
                    (try? Self.isExact(decoder, seed: UInt64(number))) == true
                }
            }
            for await isExact in group { #expect(isExact) }
        }
    }

    /// While one call decodes, another one decodes as a whole; what comes next does not follow the first one's image alone.
    @Test func `a JPEG after one that was decoded without strips counts as changed`() throws {
        let scenes = try [1, 2].map { try EditedImage(1_000, 1_000, as: .bgra, seed: $0).image }
        let jpegs = try scenes.map { try StripEncoder().encode($0, with: JPEGEncoder()).jpeg }
        let (jpeg, other) = (jpegs[0], jpegs[1])
        let decoder = StripDecoder()
        let first = try decoder.decode(jpeg.span, as: .bgra) { _, _ throws(TurboJPEGError) in
            let meanwhile = try decoder.decode(other.span, as: .bgra)
            #expect(meanwhile.changes.stripCount == 1)
        }
        #expect(first.changes.stripCount > 1)
        for rows in [[0..<1_000], []] {
            let changes = try decoder.decode(jpeg.span, as: .bgra).changes
            #expect(changes.rows == rows)
        }
    }

    private static func isExact(_ decoder: StripDecoder, seed: UInt64) throws -> Bool {
        var scene = try EditedImage(100, 150, as: .bgra, seed: seed)
        let strips = StripEncoder()
        for _ in 0..<30 {
            let jpeg = try strips.encode(scene.image, with: JPEGEncoder()).jpeg
            let image = try decoder.decode(jpeg.span, as: .bgra).image
            guard try image.hasSamePixels(as: JPEGDecoder().decode(bytes: jpeg, as: .bgra)) else { return false }
            try scene.edit()
        }
        return true
    }
}

extension [UInt8] {
    /// Breaks something, mostly near a restart marker.
    fileprivate mutating func damage(using random: inout SplitMix) {
        let restarts = indices.dropLast().filter { self[$0] == 0xFF && (0xD0...0xD7).contains(self[$0 + 1]) }
        guard let place = restarts.randomElement(using: &random),
            let other = restarts.randomElement(using: &random),
            let header = firstIndex(ofMarker: 0xDD, from: 2),
            let scan = firstIndex(ofMarker: 0xDA, from: 2)
        else { return }
        switch Int.random(in: 0..<12, using: &random) {
        case 0: removeSubrange(place..<(place + 2))
        case 1: self[place + 1] = 0xD0 + UInt8.random(in: 0..<8, using: &random)
        case 2: swapAt(place + 1, other + 1)
        case 3: insert(contentsOf: self[place..<(place + 2)], at: other)
        case 4: insert(UInt8.random(in: 0...254, using: &random), at: place)
        case 5: insert(contentsOf: [UInt8](repeating: 0, count: Int.random(in: 1..<12, using: &random)), at: place)
        case 6: self[header + 5] = UInt8.random(in: 0...255, using: &random)
        case 7: self[Int.random(in: (scan + 20)..<(count - 2), using: &random)] ^= 0x10
        case 8: removeSubrange(place..<Swift.min(count - 2, place + Int.random(in: 2..<40, using: &random)))
        case 9:
            insert(contentsOf: [UInt8](repeating: 0x55, count: Int.random(in: 1..<12, using: &random)), at: count - 2)
        case 10: insert(0xFF, at: place)
        default: append(contentsOf: [UInt8](repeating: 0, count: Int.random(in: 1..<3_000, using: &random)))
        }
    }
}
