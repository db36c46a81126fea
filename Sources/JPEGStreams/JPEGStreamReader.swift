/// Finds the JPEGs in a stream of bytes, one after another, whatever stands between them.
///
/// ```
/// var reader = JPEGStreamReader()
/// while try reader.fill({ try read(into: &$0) }) {
///     while let part = reader.next() { … }
/// }
/// reader.finish()
/// while let part = reader.next() { … }
/// ```
///
/// The parts cover the stream without gaps and overlaps, and do not depend on how it is cut into reads.
///
/// A start marker is believed if the segments behind it lead to coded data; the image ends with its end marker, before the
/// start marker of another image, or with the stream. Behind a start that leads nowhere, the search continues, so that it costs
/// no image but itself. No byte is looked at more than a few times, whatever the stream contains.
package struct JPEGStreamReader: Sendable {
    /// The maximum size of an image in bytes: 32 MiB, which is also the most that receivers accept.
    package static let maximumImageByteCount = 32 << 20

    /// The maximum number of bytes in a part that is no image; longer runs are several parts.
    package static let maximumRunByteCount = 1 << 20

    private var stream = JPEGStreamBuffer()
    /// The place of the first byte that belongs to no part yet.
    private var head = 0
    /// The starts that lead to coded data, and where it begins: a candidate, and others in its segments.
    private var starts: ArraySlice<(place: Int, scan: Int)> = []
    /// The place before which there are no others.
    private var searched = 0
    /// The coded data of the candidate, once it is known to be an image.
    private var scan: JPEGScan?
    /// The further images of the last one.
    private var list: [Range<Int>] = []

    package init() {}

    /// The number of bytes of the stream so far.
    package var byteCount: Int { stream.end }

    /// The number of bytes that were searched so far, and of markers that were followed, for tests.
    package var searchedByteCount: Int { stream.searchedByteCount }

    // MARK: Bytes

    /// Lets `read` append bytes of the stream, and returns what it returns.
    package mutating func fill<Result, Failure: Error>(
        _ read: (inout [UInt8]) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        stream.drop(before: head)
        return try read(&stream.bytes)
    }

    /// Ends the stream: what has arrived is all there is.
    package mutating func finish() { stream.isFinished = true }

    // MARK: Parts

    /// The next part; nil if that takes more of the stream, or if it has ended.
    package mutating func next() -> JPEGStreamPart? {
        while true {
            while starts.isEmpty, search(before: byteCount) {}
            // At the end, nothing is left to be an image.
            let end = starts.first?.place ?? (stream.isFinished ? byteCount : searched)
            // Long runs are cut by their length alone, so that it does not matter when they are noticed.
            if end - head >= Self.maximumRunByteCount { return run(upTo: head + Self.maximumRunByteCount) }
            guard let (start, data) = starts.first else {
                return stream.isFinished && head < end ? run(upTo: end) : nil
            }
            if scan == nil {
                while searched < data { guard search(before: data) else { return nil } }
                // A thumbnail's data begins before that of its image. A start that leads to the same data, or beyond, is the
                // next image's, and the candidate was cut off within a segment; but not one in a table of FF, which seems to be
                // fill.
                let inner = starts.dropFirst().lazy.prefix { $0.place < data }
                if inner.contains(where: { $0.scan >= data && stream[$0.place + 3] != 0xFF }) {
                    starts.removeFirst()
                    continue
                }
                scan = JPEGScan(from: data + 2)
            }
            let last = start + Self.maximumImageByteCount
            if let (end, isComplete) = scan?.end(in: &stream), end <= last {
                return head < start ? run(upTo: start) : image(data, end, isComplete: isComplete)
            }
            // Whether it is too long shows when all that may be a segment before there is complete.
            guard byteCount > last + 0x1_0004 || stream.isFinished else { return nil }
            proceed(to: last)
        }
    }

    /// Returns the bytes up to `end` as a part that is no image.
    private mutating func run(upTo end: Int) -> JPEGStreamPart {
        part(upTo: end, stream[head..<end].isPadding ? .padding : .damage)
    }

    private mutating func part(upTo end: Int, _ content: JPEGStreamPart.Content) -> JPEGStreamPart {
        defer { head = end }
        return JPEGStreamPart(offset: head, byteCount: end - head, content: content)
    }

    /// Searches for the next start before `end`; false if nothing is left to search before more of the stream is there.
    private mutating func search(before end: Int) -> Bool {
        // By its second byte: FF is the most frequent byte of silence and of white.
        guard let second = stream.first(0xD8, from: searched + 1, before: end + 1) else {
            // A start marker may be cut off.
            searched = max(searched, min(end, byteCount - 1))
            return end < byteCount
        }
        searched = second - 1
        guard let isStart = stream.isStart(searched), let scan = isStart ? stream.target(of: searched) : -1
        else { return false }
        if scan > 0 { starts.append((searched, scan)) }
        searched = second
        return true
    }

    /// Returns the candidate, which ends there; nil if that takes more of the stream.
    private mutating func image(_ data: Int, _ end: Int, isComplete: Bool) -> JPEGStreamPart? {
        let bare = stream[data..<(isComplete ? data : end)].withoutPadding
        let image = head..<(isComplete ? end : data + bare.byteCount)
        guard let isListed = stream.lists(list, image, isComplete: isComplete) else { return nil }
        proceed(to: image.upperBound)
        if isListed { return part(upTo: image.upperBound, .padding) }
        list = stream.listedImages(in: image.lowerBound..<data)
        var bytes = Array(stream[image])
        if !isComplete { bytes += [0xFF, 0xD9] }
        let found = JPEGStreamImage(bytes: bytes, isComplete: isComplete, isBeforeZeros: bare.hasZeros)
        return part(upTo: image.upperBound, .image(found))
    }

    /// Continues behind an image.
    private mutating func proceed(to place: Int) {
        (searched, starts, scan) = (max(searched, place), starts.drop { $0.place < place }, nil)
    }
}
