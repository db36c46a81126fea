// Streams of JPEGs, cut-off JPEGs and junk: every whole JPEG is found, the parts cover the stream, and it makes no difference
// how the stream is cut into reads.

import JPEGStreams

/// What libFuzzer calls with each input: a recipe for a stream.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzStream(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    let recipe = unsafe Array(UnsafeBufferPointer(start: start, count: count))
    let stream = Stream(recipe)
    let parts = read(stream.bytes, piece: .max)
    guard read(stream.bytes, piece: 1 + count % 7) == parts else { fatalError("the cuts make a difference") }
    var end = 0
    for part in parts {
        guard part.offset == end, part.byteCount > 0 else { fatalError("a gap, or an overlap, at \(end)") }
        end += part.byteCount
    }
    guard end == stream.bytes.count else { fatalError("the end is missing") }
    let found = Set(parts.compactMap { if case .image = $0.content { $0.offset } else { nil } })
    guard stream.isHonest else { return 0 }
    for whole in stream.images where !found.contains(whole) { fatalError("the JPEG at \(whole) is lost") }
    return 0
}

private func read(_ bytes: [UInt8], piece: Int) -> [JPEGStreamPart] {
    var reader = JPEGStreamReader()
    var parts: [JPEGStreamPart] = []
    var rest = bytes[...]
    while !rest.isEmpty {
        reader.fill { $0 += rest.prefix(piece) }
        rest = rest.dropFirst(piece)
        while let part = reader.next() { parts.append(part) }
    }
    reader.finish()
    while let part = reader.next() { parts.append(part) }
    guard reader.searchedByteCount <= 64 * (bytes.count + 64) else { fatalError("a part is searched too often") }
    return parts
}

/// A stream made by a recipe.
private struct Stream {
    private(set) var bytes: [UInt8] = []
    /// Where whole JPEGs begin.
    private(set) var images: [Int] = []
    /// Whether nothing in it pretends to be a JPEG.
    private(set) var isHonest = true

    init(_ recipe: [UInt8]) {
        var index = 0
        func next() -> UInt8 {
            defer { index += 1 }
            return index < recipe.count ? recipe[index] : 0
        }
        while index < recipe.count, bytes.count < 4096 {
            let kind = next()
            switch kind % 8 {
            case 0, 1, 2:
                images.append(bytes.count)
                bytes += Self.jpeg(shape: next(), filler: next())
            case 3, 4:
                // Cut off, at any place.
                let jpeg = Self.jpeg(shape: next(), filler: next())
                bytes += jpeg.prefix(2 + Int(next()) * 2 % jpeg.count)
            case 5:
                bytes += (0..<(kind >> 3)).map { _ in next() }
                isHonest = false
            case 6:
                // Fill bytes, and zeros.
                bytes += [UInt8](repeating: next() & 1 == 0 ? 0xFF : 0, count: Int(kind >> 3))
            default:
                // Junk that begins no JPEG, whatever follows.
                bytes += (0..<(kind >> 3)).map { _ in next() }.filter { $0 != 0xFF }
            }
        }
    }

    /// A JPEG that no decoder sees: its segments lead to an end.
    private static func jpeg(shape: UInt8, filler: UInt8) -> [UInt8] {
        // In content of tables and of thumbnails, everything may occur but another start.
        let fill = filler == 0xFF ? 0xFE : filler
        var jpeg: [UInt8] = [0xFF, 0xD8]
        if shape & 1 != 0 { jpeg += segment(0xE0, [UInt8](repeating: fill, count: 14)) }
        if shape & 2 != 0 {
            let thumbnail: [UInt8] =
                [0xFF, 0xD8] + segment(0xC0, [8, 0, 1, 0, 1, 1, 1, 0x11, 0]) + segment(0xDA, [1, 1, 0, 0, 63, 0])
                + [fill, 0xFF, 0xD9]
            jpeg += segment(0xE1, [0x45, 0x78] + thumbnail)
        }
        jpeg += segment(0xDB, [UInt8](repeating: fill, count: 65))
        jpeg += segment(0xC0, [8, 0, 16, 0, 16, 1, 1, 0x11, 0])
        if shape & 4 != 0 { jpeg += segment(0xDD, [0, 1]) }
        jpeg += segment(0xC4, [UInt8](repeating: fill, count: Int(shape >> 4) + 17))
        jpeg += segment(0xDA, [1, 1, 0, 0, 63, 0])
        jpeg += [UInt8](repeating: fill, count: Int(shape >> 3)) + [0xFF, 0x00]
        if shape & 4 != 0 { jpeg += (0..<8).flatMap { [0xFF, 0xD0 + $0, fill] } }
        if shape & 8 != 0 { jpeg += [0xFF] }
        return jpeg + [0xFF, 0xD9]
    }

    private static func segment(_ code: UInt8, _ content: [UInt8]) -> [UInt8] {
        [0xFF, code, UInt8((content.count + 2) >> 8), UInt8((content.count + 2) & 0xFF)] + content
    }
}
