// The fast path through a header. A complete line in the form that existing Jitsi peers write, which is nearly every line, is
// recognized eight bytes at a time. Every other line, and everything invalid, is left to the byte-by-byte path, which
// alone decides what is an error and where. The fast path may therefore reject anything, but must never accept what the
// other path would not: the tests compare the two by splitting headers.

extension FrameHeaderParser {
    /// Consumes complete lines from `index` while they have the usual form; returns true if that ended the header.
    @inline(__always)
    mutating func takeWholeLines(_ bytes: Span<UInt8>, from index: inout Int) -> Bool {
        if scanner.isAtStart {
            let byteCount = 17
            guard word(bytes, at: index) == word("H", "T", "T", "P", "/", "1", ".", "1"),
                word(bytes, at: index + 8) == word(" ", "2", "0", "0", " ", "O", "K", "\r"),
                isLineEnd(bytes, at: index + 15), scanner.hasRoom(forLineOf: byteCount)
            else { return false }
            scanner.skipStartLine(byteCount: byteCount)
            index += byteCount
        } else if !scanner.isAtLineStart {
            return false
        }
        while takeWholeField(bytes, at: &index) {}
        guard isLineEnd(bytes, at: index), fields.isCompleteFrame, scanner.hasRoom(forLineOf: 2) else { return false }
        index += 2
        return true
    }

    /// Consumes the field at `index` if it is a known one, with exactly one colon and one space after its name.
    @inline(__always)
    private mutating func takeWholeField(_ bytes: Span<UInt8>, at index: inout Int) -> Bool {
        switch word(bytes, at: index) {
        case word("C", "o", "n", "t", "e", "n", "t", "-"):
            word(bytes, at: index + 8) == word("L", "e", "n", "g", "t", "h", ":", " ")
                && takeWholeField(.contentLength, bytes, at: &index, nameCount: 16)
        case word("B", "u", "f", "f", "e", "r", "-", "W"):
            word(bytes, at: index + 6) == word("-", "W", "i", "d", "t", "h", ":", " ")
                && takeWholeField(.width, bytes, at: &index, nameCount: 14)
        case word("B", "u", "f", "f", "e", "r", "-", "H"):
            word(bytes, at: index + 7) == word("H", "e", "i", "g", "h", "t", ":", " ")
                && takeWholeField(.height, bytes, at: &index, nameCount: 15)
        case word("B", "u", "f", "f", "e", "r", "-", "O"):
            word(bytes, at: index + 8) == word("r", "i", "e", "n", "t", "a", "t", "i")
                && word(bytes, at: index + 12) == word("t", "a", "t", "i", "o", "n", ":", " ")
                && takeWholeField(.orientation, bytes, at: &index, nameCount: 20)
        case word("B", "u", "f", "f", "e", "r", "-", "P"):
            word(bytes, at: index + 8) == word("r", "e", "s", "e", "n", "t", "a", "t")
                && word(bytes, at: index + 16) == word("i", "o", "n", "-", "T", "i", "m", "e")
                && word(bytes, at: index + 18) == word("n", "-", "T", "i", "m", "e", ":", " ")
                && takeWholeField(.timestamp, bytes, at: &index, nameCount: 26)
        case word("B", "u", "f", "f", "e", "r", "-", "S"):
            word(bytes, at: index + 8) == word("e", "q", "u", "e", "n", "c", "e", ":")
                && word(bytes, at: index + 9) == word("q", "u", "e", "n", "c", "e", ":", " ")
                && takeWholeField(.sequence, bytes, at: &index, nameCount: 17)
        default:
            takeWholeSharedField(bytes, at: &index)
        }
    }

    /// Consumes the field at `index` if it is one of an image in shared memory, in the same form.
    @inline(__always)
    private mutating func takeWholeSharedField(_ bytes: Span<UInt8>, at index: inout Int) -> Bool {
        switch word(bytes, at: index) {
        case word("M", "e", "s", "s", "a", "g", "e", "-"):
            word(bytes, at: index + 6) == word("e", "-", "T", "y", "p", "e", ":", " ")
                && takeWholeWord(.messageType, bytes, at: &index, nameCount: 14)
        case word("S", "h", "a", "r", "e", "d", "-", "B"):
            word(bytes, at: index + 7) == word("B", "u", "f", "f", "e", "r", ":", " ")
                && takeWholeField(.sharedBuffer, bytes, at: &index, nameCount: 15)
        case word("S", "h", "a", "r", "e", "d", "-", "F"):
            word(bytes, at: index + 7) == word("F", "o", "r", "m", "a", "t", ":", " ")
                && takeWholeWord(.sharedFormat, bytes, at: &index, nameCount: 15)
        case word("S", "h", "a", "r", "e", "d", "-", "O"):
            word(bytes, at: index + 7) == word("O", "f", "f", "s", "e", "t", ":", " ")
                && takeWholeField(.offset, bytes, at: &index, nameCount: 15)
        case word("S", "h", "a", "r", "e", "d", "-", "S"):
            word(bytes, at: index + 7) == word("S", "t", "r", "i", "d", "e", ":", " ")
                && takeWholeField(.stride, bytes, at: &index, nameCount: 15)
        case word("C", "h", "a", "n", "g", "e", "d", "-"):
            if word(bytes, at: index + 5) == word("e", "d", "-", "R", "o", "w", ":", " ") {
                takeWholeField(.changedRow, bytes, at: &index, nameCount: 13)
            } else {
                word(bytes, at: index + 6) == word("d", "-", "R", "o", "w", "s", ":", " ")
                    && takeWholeField(.changedRows, bytes, at: &index, nameCount: 14)
            }
        default:
            false
        }
    }

    /// Consumes a field whose value is one of its known words.
    private mutating func takeWholeWord(
        _ field: MessageField,
        _ bytes: Span<UInt8>,
        at index: inout Int,
        nameCount: Int
    ) -> Bool {
        let start = index + nameCount
        var end = start
        // No word is longer.
        let limit = min(bytes.count, start + 32)
        while end < limit, bytes[end] != ASCII.carriageReturn { end += 1 }
        let byteCount = end + 2 - index
        guard isLineEnd(bytes, at: end), scanner.hasRoom(forFieldOf: byteCount),
            fields.takeWhole(word: bytes.extracting(start..<end), in: field)
        else { return false }
        scanner.skipField(byteCount: byteCount)
        index += byteCount
        return true
    }

    @inline(__always)
    private mutating func takeWholeField(
        _ field: MessageField,
        _ bytes: Span<UInt8>,
        at index: inout Int,
        nameCount: Int
    ) -> Bool {
        guard let (value, end) = number(bytes, at: index + nameCount), isLineEnd(bytes, at: end) else { return false }
        let byteCount = end + 2 - index
        guard scanner.hasRoom(forFieldOf: byteCount), fields.takeWhole(value, in: field) else { return false }
        scanner.skipField(byteCount: byteCount)
        index += byteCount
        return true
    }

    /// Returns the number of 1 to 19 digits, without a leading zero, at `start`, and the index after it.
    ///
    /// A number of 19 digits fits into 64 bits.
    @inline(__always)
    private func number(_ bytes: Span<UInt8>, at start: Int) -> (UInt64, Int)? {
        var (value, digitCount) = leadingNumber(word(bytes, at: start))
        var index = start + digitCount
        if digitCount == 0 || digitCount == 8 {
            let end = min(bytes.count, start + 19)
            while index < end {
                let digit = bytes[index] &- ASCII.zero
                guard digit < 10 else { break }
                value = value &* 10 &+ UInt64(digit)
                index += 1
            }
        }
        guard index == start + 1 || (index > start && bytes[start] != ASCII.zero) else { return nil }
        return (value, index)
    }
}

/// Returns the eight bytes at `index`, the first one lowest; 0, which no text here equals, if there are fewer.
@inline(__always)
private func word(_ bytes: Span<UInt8>, at index: Int) -> UInt64 {
    guard bytes.count - index >= 8 else { return 0 }
    // Safe: the load is within bounds, which the span checks again, and every bit pattern is a valid number.
    return UInt64(littleEndian: unsafe bytes.bytes.unsafeLoadUnaligned(fromByteOffset: index, as: UInt64.self))
}

/// Returns the eight bytes of a text, the first one lowest; a constant once optimized.
@inline(__always)
private func word(
    _ a: Unicode.Scalar,
    _ b: Unicode.Scalar,
    _ c: Unicode.Scalar,
    _ d: Unicode.Scalar,
    _ e: Unicode.Scalar,
    _ f: Unicode.Scalar,
    _ g: Unicode.Scalar,
    _ h: Unicode.Scalar
) -> UInt64 {
    let low = a.value | b.value << 8 | c.value << 16 | d.value << 24
    let high = e.value | f.value << 8 | g.value << 16 | h.value << 24
    return UInt64(high) << 32 | UInt64(low)
}

/// Returns the number formed by the digits at the front of eight bytes, and how many digits there are.
@inline(__always)
private func leadingNumber(_ word: UInt64) -> (UInt64, Int) {
    // A byte is a digit if its high half is 3 and stays 3 when 6 is added.
    let notDigits =
        ((word & 0xF0F0_F0F0_F0F0_F0F0) | ((word &+ 0x0606_0606_0606_0606) & 0xF0F0_F0F0_F0F0_F0F0) >> 4)
        ^ 0x3333_3333_3333_3333
    let digitCount = notDigits.trailingZeroBitCount >> 3
    guard digitCount > 0 else { return (0, 0) }
    // Shifted to the end, so that zeros replace the digits in front; then pairs, fours and the whole are combined.
    let digits = (word &- 0x3030_3030_3030_3030) << UInt64(64 - 8 * digitCount)
    let pairs = (digits &* 10 &+ digits >> 8) & 0x00FF_00FF_00FF_00FF
    let fours = (pairs &* 100 &+ pairs >> 16) & 0x0000_FFFF_0000_FFFF
    return ((fours &* 10_000 &+ fours >> 32) & 0xFFFF_FFFF, digitCount)
}

@inline(__always)
private func isLineEnd(_ bytes: Span<UInt8>, at index: Int) -> Bool {
    bytes.count - index >= 2 && bytes[index] == ASCII.carriageReturn && bytes[index + 1] == ASCII.lineFeed
}
