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
    /// See ``JPEGStreamReader/searchedByteCount``.
    var searchedByteCount = 0

    var end: Int { base + bytes.count }

    /// The byte at a place; nil if it has not arrived.
    subscript(place: Int) -> UInt8? { place < end ? bytes[place - base] : nil }

    subscript(range: Range<Int>) -> ArraySlice<UInt8> { bytes[(range.lowerBound - base)..<(range.upperBound - base)] }

    /// The number in two bytes; nil if they have not arrived.
    func number(at place: Int) -> Int? {
        self[place + 1].map { low in Int(bytes[place - base]) << 8 | Int(low) }
    }

    /// Drops the bytes before a place; false if moving the rest would cost more than was consumed since the last time.
    mutating func drop(before place: Int) -> Bool {
        guard place - base >= max(bytes.count / 2, 1) else { return false }
        bytes.removeFirst(place - base)
        base = place
        return true
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

    /// Whether an image may begin at a place before D8: a start marker that another marker follows; nil if that takes more of
    /// the stream.
    func isStart(_ place: Int) -> Bool? {
        guard self[place] == 0xFF, self[place + 2] ?? 0xFF == 0xFF else { return false }
        return self[place + 3].map { $0 == 0x01 || $0 == 0xFF || Self.hasLength($0) }
    }

    /// Whether a marker with this second byte begins a segment with a length.
    static func hasLength(_ code: UInt8) -> Bool { (0xC0...0xFE).contains(code) && !(0xD0...0xD9).contains(code) }

    /// Whether a marker with this second byte is a restart marker, or the one without a meaning: nothing belongs to it.
    static func isAlone(_ code: UInt8) -> Bool { code == 0x01 || (0xD0...0xD7).contains(code) }
}
