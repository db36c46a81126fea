import FrameSocket
import JPEGStreams
import TestDescriptions
import TestSupport
import Testing

/// How JPEGs are found in a stream, whatever is between them.
@Suite(.tags(.computes)) struct JPEGStreamReaderTests {
    /// What a stream consists of, and what its reader makes of that.
    enum Piece: Equatable, CustomStringConvertible {
        case image([UInt8])
        /// An image without its end marker.
        case cut([UInt8])
        case padding([UInt8])
        case damage([UInt8])

        /// A part of a stream.
        init(_ part: JPEGStreamPart, of stream: [UInt8]) {
            let bytes = Array(stream[part.offset..<part.offset + part.byteCount])
            switch part.content {
            case .image(let image) where image.isComplete: self = .image(image.bytes)
            case .image(let image): self = .cut(image.bytes == bytes + [0xFF, 0xD9] ? bytes : image.bytes)
            case .padding: self = .padding(bytes)
            case .damage: self = .damage(bytes)
            }
        }

        var bytes: [UInt8] {
            switch self {
            case .image(let bytes), .cut(let bytes), .padding(let bytes), .damage(let bytes): bytes
            }
        }

        /// Short enough for the message of a failure.
        var description: String {
            let kind = Mirror(reflecting: self).children.first?.label ?? ""
            return "\(kind) of \(bytes.count) bytes \(bytes.hashValue)"
        }
    }

    // MARK: Streams

    /// A JPEG; nobody decodes it, so that restart markers may be anywhere.
    private static func jpeg(_ side: Int = 40, restarts: Bool = false) -> [UInt8] {
        guard let image = try? testImage(side, side, as: .bgra),
            let jpeg: [UInt8] = try? JPEGEncoder(quality: 70, subsampling: .yuv444).encode(image)
        else { return [] }
        guard restarts else { return jpeg }
        let restarts: [UInt8] = (0..<8).flatMap { [0xFF, 0xD0 + $0, 0x12, 0x34, 0xFF, 0x00] as [UInt8] }
        return Array(jpeg.dropLast(2)) + restarts + [0xFF, 0xD9]
    }

    private static let segment = HandmadeJPEG.segment

    /// The JPEG with a segment right behind its start marker.
    private static func inserting(_ segment: [UInt8], into jpeg: [UInt8]) -> [UInt8] {
        Array(jpeg[..<2]) + segment + jpeg[2...]
    }

    private static func exif(_ content: some Sequence<UInt8>) -> [UInt8] {
        segment(0xE1, Array("Exif\0\0".utf8) + content)
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
            return inserting(
                segment(0xE2, Array("MPF\0".utf8) + order + number(8, 4) + directory + entries),
                into: photo
            )
        }
        // From the start of the index, which is behind the start marker, the segment's first four bytes, and "MPF".
        return file(offset ?? file(0).count - 10)
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
        return parts
    }

    private func images(_ stream: [UInt8]) -> [[UInt8]] {
        parts(stream).compactMap { if case .image(let image) = $0.content { image.bytes } else { nil } }
    }

    // MARK: The table

    private static let whole = jpeg()
    private static let bare = Array(whole.dropLast(2))
    private static let thumbnail = jpeg(16)
    private static let photo = inserting(exif(thumbnail), into: whole)

    /// What programs write between images.
    private static let paddings: [(String, [UInt8])] = [
        ("zeros", [UInt8](repeating: 0, count: 10_000)),
        ("headers", Array("\r\n--limit\r\nContent-Type: image/jpeg\r\nContent-Length: 1234\r\n\r\n".utf8)),
        ("headers that follow at once", Array("--limit\r\nContent-Type: image/jpeg\r\n\r\n".utf8)),
        ("bare line feeds", Array("\n----limit\nContent-type: image/jpeg\n\n".utf8)),
        ("zeros and headers", [UInt8](repeating: 0, count: 4090) + Array("\r\n--limit\r\nA: b\r\n\r\n".utf8)),
    ]

    /// Bytes that belong to no image.
    private static let damages: [(String, [UInt8])] = [
        ("much text", [UInt8](repeating: 0x41, count: 5000)),
        ("quiet samples", (0..<4000).map { $0 % 2 == 0 ? 0xFF : 0xD8 }),
        ("a start and an end", [0xFF, 0xD8, 0xFF, 0xD9]),
        ("a start", [0xFF, 0xD8, 0xFF, 0xE0, 0x00, 0x10, 0x4A]),
        ("a start with a long segment", [0xFF, 0xD8, 0xFF, 0xE0, 0x40, 0x00]),
        ("tables only", [0xFF, 0xD8, 0xFF, 0xDB, 0x00, 0x03, 0x01, 0xFF, 0xD9]),
        ("starts within starts", (0..<500).flatMap { _ in [0xFF, 0xD8, 0xFF, 0xE0, 0x01, 0x00] as [UInt8] }),
        ("a chunk of AVI", Array("00dc".utf8) + [0x10, 0x80, 0xFE, 0xFF, 0x01, 0x00]),
        ("fill bytes before no marker", [0xFF, 0xFF, 0x41]),
    ]

    /// What programs write after the last frame of a multipart stream, or have begun to.
    private static let ends = ["\r\n--limit--\r\n", "\r\n--limit\r\nContent-Ty", "--limit--"]

    private static let streams: [(String, [Piece])] =
        padded + damaged + filled + ended + wholes + listed

    private static var padded: [(String, [Piece])] {
        paddings.flatMap { name, bytes -> [(String, [Piece])] in
            let (padding, frame) = (Piece.padding(bytes), Piece.cut(bare))
            return [
                (name, [padding, .image(whole), padding, .image(photo), padding]),
                ("\(name) without end markers", [frame, padding, frame, padding, frame]),
                ("\(name) with some", [padding, frame, padding, .image(whole), padding, frame]),
            ]
        }
    }

    private static var damaged: [(String, [Piece])] {
        var streams: [(String, [Piece])] = damages.map { name, bytes in
            (name, [.damage(bytes), .image(whole), .damage(bytes), .image(whole), .damage(bytes)])
        }
        // Behind FF, in coded data.
        let damages: [[UInt8]] = [
            [0x37], [0xFF], [0x01], [0xD8, 0x12], [0xC4, 0, 5], [0xE7, 0xF0, 0], [0xE7, 0, 1], [0xDA],
        ]
        for damage in damages {
            let damaged = bare + [0xFF] + damage + [UInt8](repeating: 7, count: 7) + [0xFF, 0xD9]
            streams.append(("FF and \(damage)", [.image(whole), .image(damaged), .image(photo)]))
        }
        return streams
    }

    private static var filled: [(String, [Piece])] {
        let fills: [[UInt8]] = [
            [13, 10], [0xFF], [0xFF, 0xFF], [UInt8](repeating: 0xFF, count: 5000), [13, 10, 0, 0xFF],
        ]
        return fills.map { fill in
            (
                "\(fill.prefix(4)) and so on",
                [.padding(fill), .image(whole), .padding(fill), .image(photo), .padding(fill)]
            )
        }
    }

    private static var ended: [(String, [Piece])] {
        let head = Piece.padding(Array("--limit\r\nContent-Type: image/jpeg\r\n\r\n".utf8))
        let streams: [(String, [Piece])] = ends.map { end in
            ("the end \(end.debugDescription)", [head, .cut(bare), head, .cut(bare), .padding(Array(end.utf8))])
        }
        // Data that looks like padding.
        let data: [[UInt8]] = [[0xFF, 0], Array("--".utf8), Array("a: b".utf8), [13, 10], [10, 10]]
        return streams + data.map { ("data \($0)", [.cut(bare + $0), .cut(bare + $0)]) }
    }

    private static var wholes: [(String, [Piece])] {
        let fill = [UInt8](repeating: 0xFF, count: 3000)
        let table = segment(0xDB, [0, 1, 0xFF, 0xD8] + [UInt8](repeating: 0xFF, count: 61))
        let scan: [UInt8] = segment(0xDA, [1, 1, 0, 0, 63, 0]) + [7, 0xFF, 0xD9]
        let cutThumbnail = inserting(exif(thumbnail.dropLast(9)), into: whole)
        return [
            ("a zero behind FF", [.cut(bare + [0xFF, 0]), .padding([0, 0]), .image(whole)]),
            ("a marker without a meaning", [.image(inserting([0xFF, 0x01], into: whole)), .image(whole)]),
            ("fill bytes within", [.image(inserting(fill, into: whole)), .image(whole)]),
            ("a thumbnail", [.image(photo), .image(photo)]),
            ("a thumbnail that is cut off", [.image(cutThumbnail), .image(photo)]),
            ("a table that ends like a start and fill bytes", [.image(inserting(table, into: whole)), .image(whole)]),
            ("a segment between scans", [.image(bare + segment(0xFE, [1, 0xFF, 0xD9, 2]) + scan), .image(whole)]),
        ]
    }

    private static var listed: [(String, [Piece])] {
        var streams: [(String, [Piece])] = []
        let zeros = [UInt8](repeating: 0, count: 500)
        for isLittle in [true, false] {
            let first = Piece.image(listing(thumbnail.count, in: whole, isLittle: isLittle))
            let longer = Piece.image(listing(thumbnail.count + zeros.count, in: whole, isLittle: isLittle))
            let wrong = Piece.image(listing(thumbnail.count, in: whole, isLittle: isLittle, offset: 7))
            let further = Piece.padding(thumbnail)
            func list(_ offset: Int) -> [UInt8] {
                let file = listing(thumbnail.count, in: whole, isLittle: isLittle, offset: offset)
                return Array(file[2..<2 + file.count - whole.count])
            }
            // From its index to the end of the image.
            let late = list(list(0).count - 6)
            streams += [
                ("a listed image", [first, further, first, further]),
                ("as much of it as there is", [first, .padding(Array(thumbnail.dropLast(9)))]),
                ("zeros up to its size", [longer, further, .padding(zeros), longer]),
                ("a list that is wrong", [wrong, .image(thumbnail)]),
                ("a list of what is missing", [first, first, further, first]),
                ("a list in a thumbnail", [.image(inserting(exif(first.bytes), into: first.bytes)), further]),
                ("a list behind the first scan", [.image(bare + late + [0xFF, 0xD9]), .image(thumbnail)]),
            ]
        }
        for difference in [-400, -1, 1, 400, 1 << 30] {
            let stale = listing(thumbnail.count + difference, in: whole)
            let images = [stale, thumbnail, stale, whole, stale, photo, stale]
            streams.append(("a list that is \(difference) bytes off", images.map(Piece.image)))
        }
        return streams
    }

    @Test(arguments: streams.indices) func `a stream is taken apart, however it is cut into reads`(index: Int) {
        let (name, pieces) = Self.streams[index]
        let stream = pieces.flatMap(\.bytes)
        for size in [Int.max, 1, 3, 1000] {
            let found = parts(stream, piece: size).map { Piece($0, of: stream) }
            #expect(found == pieces, "\(name) in pieces of \(size)")
        }
    }

    // MARK: Cuts

    /// What may follow a cut, up to the next image: nothing, or bytes that make a segment of the last one before it.
    static let afterCuts: [[UInt8]] = [
        [], [0xEF, 0x2F, 0x2F], [0xF6, 0x00, 0x20, 1, 2], [0xDA, 0x00, 0x08, 1], [0x01, 0x00],
    ]

    @Test(arguments: afterCuts)
    func `a JPEG that is cut off anywhere takes none of its successors with it`(following: [UInt8]) {
        let photo = Self.inserting(Self.exif(Self.thumbnail), into: Self.whole)
        for jpeg in [Self.thumbnail, Self.jpeg(24, restarts: true), photo] {
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

    @Test func `an image is there as soon as its last byte is, or the next start`() {
        for (first, then) in [(Self.whole.dropLast(), Self.whole.suffix(1)), (Self.bare[...], Self.whole.prefix(4))] {
            var reader = JPEGStreamReader()
            reader.append(first)
            #expect(reader.next() == nil)
            reader.append(then)
            guard case .image(let image)? = reader.next()?.content else {
                Issue.record("no image")
                return
            }
            #expect(image.bytes == Self.whole)
        }
    }

    // MARK: Limits

    @Test func `a long run without an image is reported in pieces, so that it is not kept`() {
        let found = parts([UInt8](repeating: 7, count: 5 << 19))
        #expect(found.map(\.byteCount) == [1 << 20, 1 << 20, 1 << 19])
    }

    @Test func `an image without an end is given up at 32 MiB, and the search goes on there`() {
        let long =
            Self.inserting(Self.exif(Self.thumbnail), into: Self.bare) + [UInt8](repeating: 0x80, count: 33 << 20)
        for piece in [1 << 16, Int.max] {
            let found = parts(long + Self.whole, piece: piece)
            #expect(found.dropLast().allSatisfy { $0.content == .damage })
            #expect(found.last?.offset == long.count && found.last?.byteCount == Self.whole.count)
        }
    }

    @Test func `no stream is searched more than a few times, however its candidates are nested`() {
        let starts = (0..<100_000).flatMap { _ in [0xFF, 0xD8, 0xFF, 0xE0, 0x40, 0x00] as [UInt8] }
        let scan: [UInt8] =
            Self.segment(0xC0, [8, 0, 16, 0, 16, 1, 1, 0x11, 0]) + Self.segment(0xDA, [1, 1, 0, 0, 63, 0])
            + [UInt8](repeating: 0x55, count: 1 << 20)
        let into = (0..<2000).flatMap { _ in [0xFF, 0xD8] + Self.segment(0xE0, [1, 2, 3, 4]) }
        let hidden = (0..<20_000).flatMap { _ in Self.segment(0xE0, [0xFF, 0xD8]) }
        let fill = [UInt8](repeating: 0xFF, count: 1 << 20)
        for stream in [
            starts, starts + scan, into + scan, into + scan + [0xFF, 0xD9], scan + into + scan, hidden, hidden + scan,
            starts + fill + [0], scan + hidden + [0],
        ] {
            var reader = JPEGStreamReader()
            reader.append(stream)
            reader.finish()
            while reader.next() != nil {}
            #expect(reader.searchedByteCount < 8 * stream.count)
        }
    }
}

extension JPEGStreamReader {
    fileprivate mutating func append(_ bytes: some Sequence<UInt8>) {
        fill { $0 += bytes }
    }
}
