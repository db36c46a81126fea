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
    mutating func end(in stream: inout JPEGStreamBuffer, isFinished: Bool) -> (place: Int, isComplete: Bool)? {
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
        guard isFinished else { return nil }
        return segment?.end.map { ($0, true) } ?? (stream.end, false)
    }
}
