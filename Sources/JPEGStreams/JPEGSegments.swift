/// Where the segments behind start markers lead, one after another.
struct JPEGHeaders: Sendable {
    /// How far markers are known to lead, so that none is followed twice.
    ///
    /// A key is a marker's place, shifted, with a bit for whether a frame header came before: the rest of the way depends on
    /// nothing else.
    private var shortcuts: [Int: Int] = [:]

    /// Follows the segments from a start to the marker of coded data, or to nothing (-1); nil if that takes more of the stream.
    mutating func target(of start: Int, in stream: inout JPEGStreamBuffer) -> Int? {
        let missing: Int? = stream.isFinished ? -1 : nil
        let limit = (start + JPEGStreamReader.maximumImageByteCount) << 1 | 1
        var key = (start + 2) << 1
        var passed: [Int] = []
        defer {
            for other in passed { shortcuts[other] = key }
            stream.searchedByteCount += passed.count + 1
        }
        while key <= limit {
            if let further = shortcuts[key] {
                passed.append(key)
                key = further
                continue
            }
            let place = key >> 1
            guard stream[place] ?? 0xFF == 0xFF else { return -1 }
            guard let code = stream[place + 1] else { return missing }
            var (next, hasFrameHeader) = (place + (code == 0xFF ? 1 : 2), key & 1 == 1)
            if code != 0xFF, !JPEGStreamBuffer.isAlone(code) {
                guard JPEGStreamBuffer.hasLength(code) else { return -1 }
                guard let length = stream.number(at: next) else { return missing }
                let isScan = code == 0xDA
                let isFrameHeader = (0xC0...0xCF).contains(code) && ![0xC4, 0xC8, 0xCC].contains(code)
                if isScan || isFrameHeader {
                    guard let count = stream[place + (isScan ? 4 : 9)] else { return missing }
                    let expected = isScan ? 6 + 2 * Int(count) : 8 + 3 * Int(count)
                    guard count > 0, length == expected, isScan == hasFrameHeader else { return -1 }
                    // There is no image without a width; the height may follow.
                    if isFrameHeader, stream.number(at: place + 7) == 0 { return -1 }
                    if isScan { return place }
                    hasFrameHeader = true
                }
                guard length >= 2 else { return -1 }
                next += length
            }
            // Of many fill bytes, some are enough.
            if code != 0xFF || place.isMultiple(of: 64) { passed.append(key) }
            key = next << 1 | (hasFrameHeader ? 1 : 0)
        }
        return -1
    }

    /// Forgets what no image can lead to any more.
    mutating func forget(before place: Int) { shortcuts = shortcuts.filter { $0.key >> 1 >= place } }
}

/// The coded data of an image, from its first scan to its end.
struct JPEGScan: Sendable {
    private var place: Int
    /// What may be a segment between two scans, or damage that looks like one, and the first end marker in it.
    private var segment: (range: Range<Int>, end: Int?)?

    init(from place: Int) {
        self.place = place
    }

    /// Where the image ends, and whether with an end marker; nil if that takes more of the stream.
    ///
    /// Markers that cannot occur in coded data are damage, which moves no end.
    mutating func end(in stream: inout JPEGStreamBuffer) -> (place: Int, isComplete: Bool)? {
        loop: while true {
            let limit = segment?.range.upperBound ?? .max
            if place >= limit {
                guard let first = stream[limit], let code = stream[limit + 1] else { break }
                // Behind a segment, there is a marker.
                if first != 0xFF || code == 0, let end = segment?.end { return (end, true) }
                segment = nil
                continue
            }
            guard let marker = stream.first(0xFF, from: place, before: limit) else {
                place = min(limit, stream.end)
                if place == limit { continue } else { break }
            }
            place = marker
            guard let code = stream[marker + 1] else { break }
            switch code {
            case 0xD9 where segment == nil: return (marker + 2, true)
            case 0xD9: if segment?.end == nil { segment?.end = marker + 2 }
            case 0xD8:
                guard let isStart = stream.isStart(marker) else { break loop }
                // Images are in the segments before the first scan only.
                if isStart { return segment?.end.map { ($0, true) } ?? (segment?.range.lowerBound ?? marker, false) }
            case _ where segment == nil && JPEGStreamBuffer.hasLength(code):
                guard let length = stream.number(at: marker + 2) else { break loop }
                if length >= 2 { segment = (marker..<(marker + 2 + length), nil) }
            default: break
            }
            place = code == 0xFF ? marker + 1 : marker + 2
        }
        guard stream.isFinished else { return nil }
        return segment?.end.map { ($0, true) } ?? (stream.end, false)
    }
}

/// The further images of a file, such as the gain map of a photo, which the first image lists in its multi-picture index
/// (CIPA DC-007: a segment APP2 that begins with "MPF").
struct JPEGImageList: Sendable {
    /// The index: a TIFF structure that has, for every image, its size and then its place.
    private var index: ArraySlice<UInt8> = []
    /// The place in the stream from which the index counts.
    private var base = 0

    init() {}

    /// Reads the list of an image with this header, whose segments lead to coded data.
    init(in header: Range<Int>, of stream: JPEGStreamBuffer) {
        var place = header.lowerBound + 2
        while place < header.upperBound, let code = stream[place + 1], let length = stream.number(at: place + 2) {
            if code == 0xFF || JPEGStreamBuffer.isAlone(code) {
                place += code == 0xFF ? 1 : 2
                continue
            }
            let content = stream[(place + 4)..<(place + 2 + length)]
            if code == 0xE2, content.starts(with: Array("MPF\0".utf8)) {
                (index, base) = (ArraySlice(Array(content.dropFirst(4))), place + 8)
                return
            }
            place += 2 + length
        }
    }

    /// Whether an image is listed; nil if that takes more of the stream.
    ///
    /// It has to end where the list says, or to be padded with zeros up to there. Where programs have cut the further images
    /// off, and left the list, another file may begin.
    func contains(_ image: Range<Int>, isComplete: Bool, in stream: JPEGStreamBuffer) -> Bool? {
        guard index.count > 16 else { return false }
        let most = isComplete ? JPEGStreamReader.maximumRunByteCount : JPEGStreamReader.maximumImageByteCount
        for entry in index.indices.dropLast(7) where number(at: entry + 4) == image.lowerBound - base {
            let padding = number(at: entry) - image.count
            guard 0...most ~= padding else { continue }
            let zeros = stream[image.upperBound..<min(image.upperBound + padding, stream.end)]
            guard zeros.allSatisfy({ $0 == 0 }) else { continue }
            // It may be cut off with the stream.
            if zeros.count == padding || stream.isFinished && !isComplete { return true }
            if !stream.isFinished { return nil }
        }
        return false
    }

    /// The number in four bytes of the index, which states their order.
    private func number(at place: Int) -> Int {
        let bytes = index[place..<(place + 4)]
        return (index.first == 0x49 ? Array(bytes.reversed()) : Array(bytes)).reduce(0) { $0 << 8 | Int($1) }
    }
}
