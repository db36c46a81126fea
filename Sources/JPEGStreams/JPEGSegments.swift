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
            default:
                guard segment == nil else { break }
                guard let (code, end) = stream.marker(at: marker) else { break loop }
                if JPEGStreamBuffer.hasLength(code) { segment = (marker..<end, nil) }
            }
            place = code == 0xFF ? marker + 1 : marker + 2
        }
        guard stream.isFinished else { return nil }
        return segment?.end.map { ($0, true) } ?? (stream.end, false)
    }
}

extension JPEGStreamBuffer {
    /// Returns the further images of a file, such as the gain map of a photo, which the image with this header lists in its
    /// multi-picture index (CIPA DC-007: a segment APP2 that begins with "MPF").
    func listedImages(in header: Range<Int>) -> [Range<Int>] {
        var place = header.lowerBound + 2
        while place < header.upperBound, let (code, end) = marker(at: place) {
            if code == 0xE2, self[(place + 4)..<end].starts(with: "MPF\0".utf8) {
                // A TIFF structure that has, for every image, its size and then its place, which counts from here.
                let (base, index) = (place + 8, Array(self[(place + 8)..<end]))
                func number(at place: Int) -> Int {
                    (0..<4).reduce(0) { $0 << 8 | Int(index[index[0] == 0x49 ? place + 3 - $1 : place + $1]) }
                }
                let images = index.indices.dropLast(7).lazy.map { (base + number(at: $0 + 4), number(at: $0)) }
                return images.filter { $0.0 > header.upperBound }.map { $0..<$0 + $1 }
            }
            place = end
        }
        return []
    }

    /// Whether one of these images is here; nil if that takes more of the stream.
    ///
    /// It has to end where the list says, or to be padded with zeros up to there. Where programs have cut the further images
    /// off, and left the list, another file may begin.
    func lists(_ images: [Range<Int>], _ image: Range<Int>, isComplete: Bool) -> Bool? {
        let most = isComplete ? JPEGStreamReader.maximumRunByteCount : JPEGStreamReader.maximumImageByteCount
        for listed in images where listed.lowerBound == image.lowerBound {
            guard 0...most ~= listed.count - image.count else { continue }
            let zeros = self[image.upperBound..<min(listed.upperBound, self.end)]
            guard zeros.allSatisfy({ $0 == 0 }) else { continue }
            // It may be cut off with the stream.
            if listed.upperBound <= self.end || isFinished && !isComplete { return true }
            if !isFinished { return nil }
        }
        return false
    }
}
