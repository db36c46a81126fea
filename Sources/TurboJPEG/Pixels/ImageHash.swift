internal import CJPEGStrips

/// A keyed 64-bit hash of rows of bytes, in the manner of wyhash: each step multiplies 64 by 64 bits to 128.
///
/// By chance, two different images have the same hash about once in 2^64 divided by the number of steps: for a strip of
/// 16 rows of 1920 pixels of four bytes, once in 2^53. Nobody can search for such images without the key, but the
/// function is not cryptographic, and nothing is proven.
package struct ImageHash {
    /// The secret that two hashes must share to be comparable.
    package struct Key: Sendable {
        fileprivate let words: (UInt64, UInt64, UInt64, UInt64)

        /// Creates a new random key.
        package init() {
            var random = SystemRandomNumberGenerator()
            words = (random.next(), random.next(), random.next(), random.next())
        }

        /// A key of zeros, for tests that state what is multiplied.
        static let zero = Key(words: (0, 0, 0, 0))

        private init(words: (UInt64, UInt64, UInt64, UInt64)) {
            self.words = words
        }
    }

    private static let stripe = 64

    private let key: Key
    private var lanes: (UInt64, UInt64, UInt64, UInt64)

    package init(key: Key) {
        self.key = key
        // The lanes must differ, or exchanging their input would not change the hash.
        lanes = (key.words.1, key.words.2, key.words.3, key.words.0)
    }

    /// The hash of everything that was added.
    package var value: UInt64 {
        Self.mix(
            Self.mix(lanes.0, lanes.1 ^ key.words.0) ^ key.words.2,
            Self.mix(lanes.2, lanes.3 ^ key.words.1) ^ key.words.3
        )
    }

    /// Adds a number.
    package mutating func add(_ number: UInt64) {
        lanes.0 = Self.mix(number ^ key.words.0, lanes.0 ^ key.words.3)
    }

    /// Adds a row.
    ///
    /// Rows are distinguished only from others of the same length: the caller adds whatever determines the lengths.
    ///
    /// The data `distance` bytes after each byte is prefetched, because it is added soon: otherwise, a third of the
    /// time is spent waiting for memory.
    package mutating func add(_ row: Span<UInt8>, distance: Int = 0) {
        unsafe row.withUnsafeBytes { row in
            guard row.count >= Self.stripe else { return unsafe addShort(row) }
            var offset = 0
            let last = row.count - Self.stripe
            while offset < last {
                if let base = row.baseAddress { unsafe jpeg_strips_prefetch(base + offset + distance) }
                unsafe addStripe(of: row, at: offset)
                offset += Self.stripe
            }
            // The last stripe extends to the end, and overlaps bytes that were already added if necessary.
            unsafe addStripe(of: row, at: last)
        }
    }

    @inline(__always)
    private mutating func addStripe(of row: UnsafeRawBufferPointer, at offset: Int) {
        @inline(__always)
        func word(_ index: Int) -> UInt64 {
            unsafe row.loadUnaligned(fromByteOffset: offset &+ 8 &* index, as: UInt64.self)
        }
        lanes.0 = Self.mix(word(0) ^ key.words.0, word(1) ^ lanes.0)
        lanes.1 = Self.mix(word(2) ^ key.words.1, word(3) ^ lanes.1)
        lanes.2 = Self.mix(word(4) ^ key.words.2, word(5) ^ lanes.2)
        lanes.3 = Self.mix(word(6) ^ key.words.3, word(7) ^ lanes.3)
    }

    private mutating func addShort(_ row: UnsafeRawBufferPointer) {
        var number: UInt64 = 0
        for index in row.indices {
            number = unsafe number << 8 | UInt64(row[index])
            if index % 8 == 7 {
                add(number)
                number = 0
            }
        }
        if row.count % 8 != 0 { add(number) }
    }

    @inline(__always)
    private static func mix(_ first: UInt64, _ second: UInt64) -> UInt64 {
        let product = first.multipliedFullWidth(by: second)
        // Not `high ^ low`: inverting a factor changes both in nearly the same way, and once in 2^27 the change cancels
        // out.
        return product.high ^ (product.low << 32 | product.low >> 32)
    }
}

extension UnsafePlanes {
    /// Adds one visible row in every `step` to a hash.
    func add(to hash: inout ImageHash, every step: Int = 1) {
        for index in 0..<(unsafe format.planeCount) {
            let plane = unsafe self[index]
            let shape = unsafe plane.shape
            // A multiple of the step, at least two pages.
            let rowDistance = max(1, step * shape.bytesPerRow)
            let distance = (8_192 + rowDistance - 1) / rowDistance * rowDistance
            for row in stride(from: 0, to: shape.height, by: step) {
                let bytes = unsafe UnsafeBufferPointer(start: plane.row(row), count: shape.visibleBytesPerRow)
                unsafe hash.add(bytes.span, distance: distance)
            }
        }
    }
}
