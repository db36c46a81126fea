extension Span<UInt8> {
    /// The number of bytes without the zeros at the end: what a JPEG takes without the padding of short bodies.
    ///
    /// Zeros are counted from the end, in blocks, then in words, then in bytes. A JPEG that is not padded ends with
    /// another byte, at which this stops at once.
    package var countWithoutPadding: Int {
        unsafe withUnsafeBytes { bytes in
            guard let start = bytes.baseAddress else { return 0 }
            var end = unsafe start + bytes.count
            while unsafe end - start >= 256, unsafe areZeros(end - 256, words: 32) { unsafe end -= 256 }
            while unsafe end - start >= 8, unsafe areZeros(end - 8, words: 1) { unsafe end -= 8 }
            while unsafe end > start, unsafe end.load(fromByteOffset: -1, as: UInt8.self) == 0 { unsafe end -= 1 }
            return unsafe end - start
        }
    }
}

/// Returns whether `words` times eight bytes are zero; the compiler makes vectors of a constant number of words.
@inline(__always)
@unsafe private func areZeros(_ bytes: UnsafeRawPointer, words: Int) -> Bool {
    var all: UInt64 = 0
    for index in 0..<words { unsafe all |= bytes.loadUnaligned(fromByteOffset: 8 * index, as: UInt64.self) }
    return all == 0
}
