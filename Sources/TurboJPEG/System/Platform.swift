#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#elseif canImport(Darwin)
    internal import Darwin
#endif

/// Returns whether two byte sequences are equal.
@unsafe func equalBytes(_ first: UnsafePointer<UInt8>, _ second: UnsafePointer<UInt8>, count: Int) -> Bool {
    unsafe memcmp(first, second, count) == 0
}

/// Returns the index of the first marker at or after `start` that ends a scan's data; the count if there is none.
///
/// Restart markers are part of the data, and so is `FF 00`, which represents a byte FF.
@unsafe func endOfScanData(_ bytes: UnsafeBufferPointer<UInt8>, from start: Int) -> Int {
    guard let base = bytes.baseAddress else { return 0 }
    var index = start
    while index < bytes.count {
        guard let found = unsafe memchr(base + index, 0xFF, bytes.count - index) else { break }
        index = unsafe UnsafeRawPointer(base).distance(to: found)
        // Any number of FF bytes may precede a marker's second byte.
        var next = index + 1
        while next < bytes.count, unsafe bytes[next] == 0xFF { next += 1 }
        guard next < bytes.count else { break }
        let marker = unsafe bytes[next]
        guard marker == 0 || JPEGMarker.restarts.contains(marker) else { return index }
        index = next + 1
    }
    return bytes.count
}

/// Returns ten times the decimal logarithm.
func decibels(_ ratio: Double) -> Double {
    10 * log10(ratio)
}

/// Returns the index of the next FF byte in a range.
@unsafe func nextMarkedByte(_ bytes: UnsafeBufferPointer<UInt8>, in range: Range<Int>) -> Int? {
    guard let base = bytes.baseAddress, !range.isEmpty,
        let found = unsafe memchr(base + range.lowerBound, 0xFF, range.count)
    else { return nil }
    return unsafe UnsafeRawPointer(base).distance(to: found)
}

extension Span<UInt8> {
    /// The number of bytes without the zeros at the end: what a JPEG takes without the padding of short bodies.
    ///
    /// Zeros are counted from the end, in blocks, then in words, then in bytes. A JPEG that is not padded ends with
    /// another byte, at which this stops at once.
    package var countWithoutPadding: Int {
        unsafe withUnsafeBytes { bytes in
            guard let start = bytes.baseAddress else { return 0 }
            var end = unsafe start + bytes.count
            // As bodies end that are padded: what is aligned takes half of the instructions.
            if UInt(bitPattern: end).isMultiple(of: 16) {
                while unsafe end - start >= 256, unsafe isZeroBlock(end - 256) { unsafe end -= 256 }
            }
            while unsafe end - start >= 8, unsafe end.loadUnaligned(fromByteOffset: -8, as: UInt64.self) == 0 {
                unsafe end -= 8
            }
            while unsafe end > start, unsafe end.load(fromByteOffset: -1, as: UInt8.self) == 0 { unsafe end -= 1 }
            return unsafe end - start
        }
    }
}

/// Returns whether 256 bytes are zero, whose first one is aligned as a vector of 16.
@inline(__always)
@unsafe private func isZeroBlock(_ bytes: UnsafeRawPointer) -> Bool {
    var all = SIMD2<UInt64>.zero
    for index in 0..<16 { unsafe all |= bytes.load(fromByteOffset: 16 * index, as: SIMD2<UInt64>.self) }
    return all == .zero
}
