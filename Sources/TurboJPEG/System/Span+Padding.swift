extension Span<UInt8> {
    /// The number of bytes without the zeros at the end: what a JPEG takes without the padding of short bodies.
    ///
    /// Zeros are counted from the end, 64 at a time. A JPEG that is not padded ends with another byte, at which this
    /// stops at once.
    package var countWithoutPadding: Int {
        unsafe withUnsafeBytes { bytes in
            guard let start = bytes.baseAddress else { return 0 }
            var end = unsafe start + bytes.count
            while unsafe end - start >= 64, unsafe hasZeros(end - 64), unsafe hasZeros(end - 32) { unsafe end -= 64 }
            while unsafe end > start, unsafe end.load(fromByteOffset: -1, as: UInt8.self) == 0 { unsafe end -= 1 }
            return unsafe end - start
        }
    }
}

/// Returns whether 32 bytes are zero.
@inline(__always)
@unsafe private func hasZeros(_ bytes: UnsafeRawPointer) -> Bool {
    let first = unsafe bytes.loadUnaligned(as: UInt64.self) | bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self)
    let second =
        unsafe bytes.loadUnaligned(fromByteOffset: 16, as: UInt64.self)
        | bytes.loadUnaligned(fromByteOffset: 24, as: UInt64.self)
    return first | second == 0
}
