#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// How markers are recognized.
enum JPEGMarkers {
    /// The number of bytes that tell a start marker from others: it, and the marker that follows.
    static let startByteCount = 4

    /// The second byte of a marker without a meaning, for the private use of encoders.
    private static let temporary: UInt8 = 0x01

    /// Whether a marker with this second byte begins a segment with a length.
    static func hasLength(_ code: UInt8) -> Bool {
        (0xC0...0xFE).contains(code) && !(0xD0...0xD9).contains(code)
    }

    /// Whether a marker with this second byte is a frame header, of whichever process.
    static func isFrameHeader(_ code: UInt8) -> Bool {
        (0xC0...0xCF).contains(code) && code != 0xC4 && code != 0xC8 && code != 0xCC
    }

    /// Whether an image may begin at `index`, with a start marker that another marker follows.
    ///
    /// False if `bytes` ends before that.
    static func isStart(_ bytes: UnsafeBufferPointer<UInt8>, _ index: Int) -> Bool {
        guard index >= 0, index + startByteCount <= bytes.count else { return false }
        guard unsafe bytes[index] == 0xFF, unsafe bytes[index + 1] == 0xD8, unsafe bytes[index + 2] == 0xFF else {
            return false
        }
        let code = unsafe bytes[index + 3]
        return hasLength(code) || code == 0xFF || code == temporary
    }

    /// The index from which on an image may begin; nil if there is none.
    static func start(in bytes: UnsafeBufferPointer<UInt8>, from index: Int) -> Int? {
        // By its second byte: FF is the most frequent byte of silence and of white.
        var from = index + 1
        while let found = unsafe JPEGMarkers.index(of: 0xD8, in: bytes, from: from) {
            if unsafe isStart(bytes, found - 1) { return found - 1 }
            from = found + 1
        }
        return nil
    }

    /// The index of the first byte of this value at or after `index`; nil if there is none.
    static func index(of byte: UInt8, in bytes: UnsafeBufferPointer<UInt8>, from index: Int) -> Int? {
        guard let start = bytes.baseAddress, index < bytes.count else { return nil }
        guard let found = unsafe memchr(start + index, CInt(byte), bytes.count - index) else { return nil }
        return unsafe UnsafeRawPointer(found) - UnsafeRawPointer(start)
    }
}
