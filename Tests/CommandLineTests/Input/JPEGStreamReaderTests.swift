import FrameSocket
import JPEGStreams
import TestDescriptions
import TestSupport
import Testing

/// How JPEGs are found in a stream, whatever is between them.
@Suite(.tags(.computes)) struct JPEGStreamReaderTests {
    // MARK: Streams

    /// A JPEG; nobody decodes it, so that restart markers may be anywhere.
    private static func jpeg(_ side: Int = 40, restarts: Bool = false) throws -> [UInt8] {
        let image = try testImage(side, side, as: .bgra)
        let jpeg: [UInt8] = try JPEGEncoder(quality: 70, subsampling: .yuv444).encode(image)
        guard restarts else { return jpeg }
        let restarts: [UInt8] = (0..<8).flatMap { [0xFF, 0xD0 + $0, 0x12, 0x34, 0xFF, 0x00] as [UInt8] }
        return Array(jpeg.dropLast(2)) + restarts + [0xFF, 0xD9]
    }

    private static func segment(_ code: UInt8, _ content: [UInt8]) -> [UInt8] {
        [0xFF, code, UInt8((content.count + 2) >> 8), UInt8((content.count + 2) & 0xFF)] + content
    }

    /// The JPEG with a segment right behind its start marker.
    private static func inserting(_ segment: [UInt8], into jpeg: [UInt8]) -> [UInt8] {
        Array(jpeg[..<2]) + segment + jpeg[2...]
    }

    private func parts(_ stream: [UInt8], piece: Int = .max) -> [JPEGStreamPart] {
        var reader = JPEGStreamReader()
        var parts: [JPEGStreamPart] = []
        var rest = stream[...]
        while !rest.isEmpty {
            reader.append(rest.prefix(piece))
            rest = rest.dropFirst(piece)
            while let part = reader.next() { parts.append(part) }
        }
        reader.finish()
        while let part = reader.next() { parts.append(part) }
        #expect(parts.reduce(0) { $0 + $1.byteCount } == stream.count, "the parts do not cover the stream")
        return parts
    }

    private func images(_ stream: [UInt8]) -> [[UInt8]] {
        parts(stream).compactMap { if case .image(let image) = $0 { image.bytes } else { nil } }
    }

    private func runs(_ stream: [UInt8]) -> [JPEGStreamRun] {
        parts(stream).compactMap { if case .run(let run) = $0 { run } else { nil } }
    }

    // MARK: Cuts

    @Test func `it makes no difference how a stream is cut into reads`() throws {
        let jpeg = try Self.jpeg()
        let (falseStart, halfStart) = ([0xFF, 0xD8, 0xFF, 0xE0], [0, 0, 0xFF, 0xD8, 0xFF]) as ([UInt8], [UInt8])
        let stream = [1, 2, 0xFF] + jpeg + falseStart + jpeg.dropLast(2) + jpeg + halfStart
        let whole = parts(stream)
        #expect(whole.count == 6)
        for piece in [1, 2, 3, 5, 64, 1000] { #expect(parts(stream, piece: piece) == whole) }
    }

    @Test func `an image is there as soon as its last byte is`() throws {
        let jpeg = try Self.jpeg()
        var reader = JPEGStreamReader()
        reader.append(jpeg.dropLast())
        #expect(reader.next() == nil)
        reader.append(jpeg.suffix(1))
        guard case .image(let image)? = reader.next() else {
            Issue.record("no image")
            return
        }
        #expect(image.bytes == jpeg && image.isComplete && (image.width, image.height) == (40, 40))
    }

    @Test func `a JPEG without an end ends at the next start, and is there at once`() throws {
        let jpeg = try Self.jpeg()
        var reader = JPEGStreamReader()
        reader.append(jpeg.dropLast(2) + jpeg.prefix(4))
        guard case .image(let image)? = reader.next() else {
            Issue.record("no image")
            return
        }
        #expect(image.bytes == jpeg && !image.isComplete && image.byteCount == jpeg.count - 2)
    }

    // MARK: Damage

    /// What may follow a cut, up to the next image: nothing, or bytes that make a segment of the last one before it.
    static let afterCuts: [[UInt8]] = [
        [], [0xEF, 0x2F, 0x2F], [0xF6, 0x00, 0x20, 1, 2], [0xDA, 0x00, 0x08, 1], [0x01, 0x00],
    ]

    @Test(arguments: afterCuts)
    func `a JPEG that is cut off anywhere takes none of its successors with it`(following: [UInt8]) throws {
        let thumbnail = try Self.jpeg(16)
        let photo = Self.inserting(Self.segment(0xE1, Array("Exif\0\0".utf8) + thumbnail), into: try Self.jpeg())
        for jpeg in [thumbnail, try Self.jpeg(24, restarts: true), photo] {
            for length in 2..<jpeg.count {
                for cut in [Array(jpeg[..<length]), jpeg[..<length] + [0xFF]] {
                    let found = images(cut + following + jpeg + photo)
                    guard found.suffix(2) == [jpeg, photo], found.count <= 3 else {
                        Issue.record("cut off after \(cut.count) of \(jpeg.count) bytes: \(found.map(\.count))")
                        return
                    }
                }
            }
        }
    }

    /// What may stand between two JPEGs.
    static let junk: [(name: String, bytes: [UInt8], isSeparator: Bool)] = [
        ("zeros", [UInt8](repeating: 0, count: 10_000), true),
        ("a line end", [13, 10], true),
        ("headers", Array("\r\n--boundary\r\nContent-Type: image/jpeg\r\nContent-Length: 1234\r\n\r\n".utf8), true),
        ("much text", [UInt8](repeating: 0x41, count: 5000), false),
        ("white", [UInt8](repeating: 0xFF, count: 5000), false),
        ("quiet samples", (0..<4000).map { $0 % 2 == 0 ? 0xFF : 0xD8 }, false),
        ("a start and an end", [0xFF, 0xD8, 0xFF, 0xD9], false),
        ("a start", [0xFF, 0xD8, 0xFF, 0xE0, 0x00, 0x10, 0x4A], false),
        ("a start with a long segment", [0xFF, 0xD8, 0xFF, 0xE0, 0x40, 0x00], false),
        ("tables only", [0xFF, 0xD8, 0xFF, 0xDB, 0x00, 0x03, 0x01, 0xFF, 0xD9], false),
        ("starts within starts", (0..<500).flatMap { _ in [0xFF, 0xD8, 0xFF, 0xE0, 0x01, 0x00] as [UInt8] }, false),
        ("a chunk of AVI", Array("00dc".utf8) + [0x10, 0x80, 0xFE, 0xFF, 0x01, 0x00], false),
    ]

    @Test(arguments: junk.indices)
    func `bytes between JPEGs cost none of them, and are reported unless programs write them`(
        index: Int
    ) throws {
        let (name, junk, isSeparator) = Self.junk[index]
        let jpeg = try Self.jpeg()
        let stream = junk + jpeg + junk + jpeg + junk
        #expect(images(stream) == [jpeg, jpeg], "\(name)")
        let runs = runs(stream)
        #expect(runs.map(\.offset) == [0, junk.count + jpeg.count, 2 * (junk.count + jpeg.count)], "\(name)")
        #expect(runs.allSatisfy { $0.byteCount == junk.count && $0.isSeparator == isSeparator }, "\(name)")
    }

    /// What stands behind a frame without an end marker.
    static let envelopes: [(name: String, bytes: [UInt8])] = [
        ("zeros", [UInt8](repeating: 0, count: 4096)),
        ("much padding", [UInt8](repeating: 0, count: 100_000)),
        ("headers", Array("\r\n--limit\r\nContent-Type: image/jpeg\r\nContent-Length: 1234\r\n\r\n".utf8)),
        ("headers that follow at once", Array("--limit\r\nContent-Type: image/jpeg\r\n\r\n".utf8)),
        ("a limit without dashes", Array("\r\nlimit\r\nContent-Type: image/jpeg\r\n\r\n".utf8)),
        ("bare line feeds", Array("\n--limit\nContent-type: image/jpeg\n\n".utf8)),
        ("zeros and headers", [UInt8](repeating: 0, count: 4090) + Array("\r\n--limit\r\nA: b\r\n\r\n".utf8)),
    ]

    @Test(arguments: envelopes.indices)
    func `what programs write behind a frame without an end marker is no part of it`(index: Int) throws {
        let (name, envelope) = Self.envelopes[index]
        let jpeg = try Self.jpeg()
        let frame = Array(jpeg.dropLast(2))
        let streams: [[[UInt8]]] = [
            [frame, envelope, frame, envelope, frame], [envelope, frame, envelope, jpeg, envelope, frame],
        ]
        for stream in streams.map({ $0.flatMap(\.self) }) {
            #expect(images(stream) == [jpeg, jpeg, jpeg], "\(name)")
            #expect(runs(stream).allSatisfy { $0.isSeparator && $0.byteCount == envelope.count }, "\(name)")
            let whole = parts(stream)
            for piece in [1, 1000] { #expect(parts(stream, piece: piece) == whole, "\(name)") }
        }
    }

    @Test(arguments: ["\r\n", "\r\n--limit--\r\n", "\r\n--limit\r\nContent-Ty", "--limit--"])
    func `what ends a multipart stream is no part of its last frame`(end: String) throws {
        let jpeg = try Self.jpeg()
        let head = Array("--limit\r\nContent-Type: image/jpeg\r\n\r\n".utf8)
        let frame = head + jpeg.dropLast(2)
        let stream = frame + [13, 10] + frame + Array(end.utf8)
        #expect(images(stream) == [jpeg, jpeg])
        #expect(runs(stream).allSatisfy { $0.isSeparator })
    }

    @Test func `data that looks like an envelope stays, and so does the zero behind a byte FF`() throws {
        let jpeg = Array(try Self.jpeg().dropLast(2))
        let ends: [(data: [UInt8], envelope: [UInt8])] = [
            ([0xFF, 0], [0, 0, 0]), (Array("--".utf8), []), (Array("a: b".utf8), [0]), ([13, 10], []), ([10, 10], []),
        ]
        for (data, envelope) in ends {
            #expect(images(jpeg + data + envelope + jpeg) == [jpeg + data + [0xFF, 0xD9], jpeg + [0xFF, 0xD9]])
        }
    }

    @Test func `a marker without a meaning may be the first one`() throws {
        let jpeg = Self.inserting([0xFF, 0x01], into: try Self.jpeg())
        #expect(images(jpeg + jpeg) == [jpeg, jpeg])
    }

    @Test func `damage in coded data leaves a frame where it is`() throws {
        let jpeg = try Self.jpeg(144, restarts: true)
        let scan = try #require(jpeg.indices.last { jpeg[$0] == 0xFF && jpeg[$0 + 1] == 0xD3 })
        for damage in [[0xFF, 0x37], [0xFF, 0xFF], [0xFF, 0x01], [0xFF, 0xD8]] as [[UInt8]] {
            var damaged = jpeg
            damaged.replaceSubrange((scan - 2)..<scan, with: damage)
            #expect(images(jpeg + damaged + jpeg) == [jpeg, damaged, jpeg])
        }
    }

    @Test func `a long run without an image is reported in pieces, so that it is not kept`() {
        let stream = [UInt8](repeating: 7, count: 5 << 19)
        #expect(runs(stream).map(\.byteCount) == [1 << 20, 1 << 20, 1 << 19])
    }

    // MARK: What belongs to an image

    @Test func `a thumbnail is no image, whether its own is damaged or not`() throws {
        let thumbnail = try Self.jpeg(16)
        let photo = Self.inserting(Self.segment(0xE1, Array("Exif\0\0".utf8) + thumbnail), into: try Self.jpeg())
        #expect(images(photo + photo) == [photo, photo])
        // A marker in the coded data that leads nowhere.
        let damaged = Array(photo.dropLast(20)) + [0xFF, 0xC4, 0x00, 0x05] + photo.suffix(20)
        #expect(images(damaged + photo) == [photo])
        // A thumbnail that is itself cut off.
        let odd = Self.inserting(Self.segment(0xE1, Array("Exif\0\0".utf8) + thumbnail.dropLast(9)), into: photo)
        #expect(images(odd + photo) == [odd, photo])
    }

    /// The photo with a list of one further image, which begins where this one ends, and has that many bytes.
    private static func listing(_ size: Int, in photo: [UInt8], isLittle: Bool = false, offset: Int? = nil) -> [UInt8] {
        func number(_ value: Int, _ size: Int) -> [UInt8] {
            let bytes = (0..<size).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
            return isLittle ? bytes : bytes.reversed()
        }
        func file(_ offset: Int) -> [UInt8] {
            let order: [UInt8] = isLittle ? [0x49, 0x49, 0x2A, 0x00] : [0x4D, 0x4D, 0x00, 0x2A]
            let entry = number(0xB002, 2) + number(7, 2) + number(32, 4) + number(26, 4)
            let directory = number(1, 2) + entry + number(0, 4)
            let entries = [0, offset].flatMap { number(0, 4) + number(size, 4) + number($0, 4) + number(0, 4) }
            let index = order + number(8, 4) + directory + entries
            return Self.inserting(Self.segment(0xE2, Array("MPF\0".utf8) + index), into: photo)
        }
        // From the start of the index, which is behind the start marker, the segment's first four bytes, and "MPF".
        return file(offset ?? file(0).count - 10)
    }

    @Test(arguments: [true, false]) func `the further images that a photo lists are no frames`(isLittle: Bool) throws {
        let (photo, gainMap) = (try Self.jpeg(64), try Self.jpeg(16))
        let first = Self.listing(gainMap.count, in: photo, isLittle: isLittle)
        #expect(images(first + gainMap + first + gainMap) == [first, first])
        // As much of it as there is.
        #expect(images(first + gainMap.dropLast(9)) == [first])
        // A list that is wrong loses nothing.
        let wrong = Self.listing(gainMap.count, in: photo, isLittle: isLittle, offset: 7)
        #expect(images(wrong + gainMap) == [wrong, gainMap])
    }

    @Test func `a further image may be padded with zeros up to the size that is listed`() throws {
        let gainMap = try Self.jpeg(16) + [UInt8](repeating: 0, count: 500)
        let first = Self.listing(gainMap.count, in: try Self.jpeg(64))
        let stream = first + gainMap + first + gainMap
        for piece in [1, 64, Int.max] {
            let parts = parts(stream, piece: piece)
            #expect(parts.count { if case .image = $0 { true } else { false } } == 2)
            #expect(parts.count { if case .furtherImage = $0 { true } else { false } } == 2)
        }
    }

    @Test(arguments: [-400, -1, 1, 400, 1 << 30])
    func `an image that does not end where the list says is one of its own`(difference: Int) throws {
        let (photo, gainMap) = (try Self.jpeg(64), try Self.jpeg(16))
        let stale = Self.listing(gainMap.count + difference, in: photo)
        let good = Self.listing(gainMap.count, in: photo)
        let stream = stale + gainMap + stale + photo + stale + good + gainMap + stale + gainMap
        #expect(images(stream) == [stale, gainMap, stale, photo, stale, good, stale, gainMap])
        let whole = parts(stream)
        for piece in [1, 64, 1000] { #expect(parts(stream, piece: piece) == whole) }
    }

    @Test func `a photo without the further image that it lists takes no other with it`() throws {
        let (photo, gainMap) = (try Self.jpeg(64), try Self.jpeg(16))
        let stale = Self.listing(gainMap.count, in: photo)
        #expect(images(stale + stale + stale) == [stale, stale, stale])
        #expect(images(stale + stale + gainMap + stale) == [stale, stale, stale])
    }

    // MARK: Cost

    @Test func `no stream is searched more than a few times, however its candidates are nested`() {
        let starts = (0..<100_000).flatMap { _ in [0xFF, 0xD8, 0xFF, 0xE0, 0x40, 0x00] as [UInt8] }
        let scan: [UInt8] =
            Self.segment(0xC0, [8, 0, 16, 0, 16, 1, 1, 0x11, 0]) + Self.segment(0xDA, [1, 1, 0, 0, 63, 0])
            + [UInt8](repeating: 0x55, count: 1 << 20)
        let into = (0..<2000).flatMap { _ in [0xFF, 0xD8] + Self.segment(0xE0, [1, 2, 3, 4]) }
        for stream in [starts, starts + scan, into + scan, into + scan + [0xFF, 0xD9], scan + into + scan] {
            var reader = JPEGStreamReader()
            reader.append(stream)
            reader.finish()
            while reader.next() != nil {}
            #expect(reader.searchedByteCount < 8 * stream.count && reader.steps < 8 * stream.count)
        }
    }
}
