#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// The bytes of a stream that are still needed, by their places in it.
struct JPEGStreamBuffer: Sendable {
    var bytes: [UInt8] = []
    /// Whether what has arrived is all there is.
    var isFinished = false
    /// The place of the first of the bytes.
    private var base = 0
    /// How far markers are known to lead, so that none is followed twice.
    ///
    /// A key is a marker's place, shifted, with a bit for whether a frame header came before: the rest of the way depends on
    /// nothing else.
    private var shortcuts: [Int: Int] = [:]
    /// See ``JPEGStreamReader/searchedByteCount``.
    private(set) var searchedByteCount = 0

    var end: Int { base + bytes.count }

    /// The byte at a place; nil if it has not arrived.
    subscript(place: Int) -> UInt8? { place < end ? bytes[place - base] : nil }

    subscript(range: Range<Int>) -> ArraySlice<UInt8> { bytes[(range.lowerBound - base)..<(range.upperBound - base)] }

    /// The number in two bytes; nil if they have not arrived.
    private func number(at place: Int) -> Int? {
        self[place + 1].map { low in Int(bytes[place - base]) << 8 | Int(low) }
    }

    /// Drops the bytes before a place, unless moving the rest would cost more than was consumed since the last time.
    mutating func drop(before place: Int) {
        guard place - base >= max(bytes.count / 2, 1) else { return }
        bytes.removeFirst(place - base)
        base = place
        shortcuts = shortcuts.filter { $0.key >> 1 >= place }
    }

    /// The first place of this byte in what has arrived, at or after `place` and before `limit`.
    mutating func first(_ byte: UInt8, from place: Int, before limit: Int) -> Int? {
        let count = min(limit, end) - place
        guard count > 0 else { return nil }
        let found = unsafe bytes.withUnsafeBytes { bytes -> Int? in
            guard let start = unsafe bytes.baseAddress.map({ unsafe $0 + (place - base) }) else { return nil }
            return unsafe memchr(start, CInt(byte), count).map { unsafe UnsafeRawPointer($0) - start + place }
        }
        searchedByteCount += (found ?? place + count) - place + 1
        return found
    }

    // MARK: Markers

    /// Whether an image may begin at a place before D8: a start marker that another marker follows; nil if that takes more of
    /// the stream.
    func isStart(_ place: Int) -> Bool? {
        guard self[place] == 0xFF, self[place + 2] ?? 0xFF == 0xFF else { return false }
        return self[place + 3].map { $0 == 0x01 || $0 == 0xFF || Self.hasLength($0) }
    }

    /// Whether a marker with this second byte begins a segment with a length.
    static func hasLength(_ code: UInt8) -> Bool { (0xC0...0xFE).contains(code) && !(0xD0...0xD9).contains(code) }

    /// The second byte of a marker and where its segment ends; 0 if no segment can begin there; nil if that takes more of the
    /// stream.
    func marker(at place: Int) -> (code: UInt8, end: Int)? {
        guard self[place] ?? 0xFF == 0xFF else { return (0, place) }
        guard let code = self[place + 1] else { return nil }
        if code == 0xFF { return (code, place + 1) }
        // Nothing belongs to a restart marker, or to the one without a meaning.
        if code == 0x01 || (0xD0...0xD7).contains(code) { return (code, place + 2) }
        guard Self.hasLength(code) else { return (0, place) }
        return number(at: place + 2).map { $0 < 2 ? (0, place) : (code, place + 2 + $0) }
    }

    /// Follows the segments from a start to the marker of coded data, or to nothing (-1); nil if that takes more of the stream.
    mutating func target(of start: Int) -> Int? {
        let missing: Int? = isFinished ? -1 : nil
        var key = (start + 2) << 1
        var passed: [Int] = []
        defer {
            for other in passed { shortcuts[other] = key }
            searchedByteCount += passed.count + 1
        }
        while key >> 1 <= start + JPEGStreamReader.maximumImageByteCount {
            if let further = shortcuts[key] {
                passed.append(key)
                key = further
                continue
            }
            let place = key >> 1
            guard let (code, end) = marker(at: place) else { return missing }
            if code == 0 { return -1 }
            var hasFrameHeader = key & 1
            let isScan = code == 0xDA
            if isScan || (0xC0...0xCF).contains(code) && ![0xC4, 0xC8, 0xCC].contains(code) {
                guard let count = self[place + (isScan ? 4 : 9)] else { return missing }
                let expected = isScan ? 8 + 2 * Int(count) : 10 + 3 * Int(count)
                guard count > 0, end - place == expected, isScan == (hasFrameHeader == 1) else { return -1 }
                if isScan { return place }
                // There is no image without a width; the height may follow.
                if number(at: place + 7) == 0 { return -1 }
                hasFrameHeader = 1
            }
            // Of many fill bytes, some are enough.
            if code != 0xFF || place.isMultiple(of: 64) { passed.append(key) }
            key = end << 1 | hasFrameHeader
        }
        return -1
    }
}
